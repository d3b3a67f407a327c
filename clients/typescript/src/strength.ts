// Secrets that a guesser would try first are refused before they are used. A deliberate subset of what the service
// itself checks: it has the last word on what its secrets may be.

import {knownRule} from './known_secrets.js';

const SHORTEST = {secretKey: 32, secretKeyPrevious: 32, kdfSalt: 16, apiKey: 24} as const;
const LEAST_BITS_PER_CHARACTER = 1.5;
const GROUP = 4;

export type SecretName = keyof typeof SHORTEST;

/** Errors: TypeError  names the first weak one and the rule, never the value. An empty one is left out. */
export function checkSecrets(secrets: Readonly<Partial<Record<SecretName, string>>>): void {
  const given = Object.entries(secrets).filter(([, value]) => value !== '') as [SecretName, string][];
  given.forEach(([name, value], index) => {
    const rule = brokenRule(value, SHORTEST[name]);
    if (rule) throw new TypeError(`${name}: ${rule}`);
    for (const [other, earlier] of given.slice(0, index)) {
      if (earlier.includes(value) || value.includes(earlier)) {
        throw new TypeError(`${name}: must have nothing in common with ${other}`);
      }
    }
  });
}

function brokenRule(value: string, shortest: number): string | undefined {
  const known = knownRule(value);
  if (known) return known;
  if (value.length < shortest) return `must have at least ${shortest} characters`;
  if (estimatedBits(value) < value.length * LEAST_BITS_PER_CHARACTER) {
    return 'must be random: it repeats itself or runs in sequence';
  }
  return undefined;
}

/** The entropy of the characters, where one that follows from those before it counts one bit. */
function estimatedBits(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let each = 0;
  for (const found of counts.values()) each -= (found / value.length) * Math.log2(found / value.length);
  let bits = each;
  for (let place = 1; place < value.length; place++) {
    const step = value.charCodeAt(place) - value.charCodeAt(place - 1);
    const group = place >= GROUP - 1 ? value.slice(place - GROUP + 1, place + 1) : '';
    const follows = Math.abs(step) <= 1 || (group !== '' && value.slice(0, place).includes(group));
    bits += follows ? Math.min(each, 1) : each;
  }
  return bits;
}
