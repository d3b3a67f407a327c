// Members of what came from outside, each read once into its type. A member that is missing or breaks its rule is
// E_SHAPE, and the message names it.

import {unb64} from './bytes.js';
import {ScpError} from './errors.js';
import {isObject, type Json, type JsonObject} from './json.js';

export const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
export const OP = /^[a-z_.]{1,32}$/;
export const TOOL = /^[a-z][a-z0-9_-]{0,63}\.[a-z][a-z0-9_-]{0,63}$/;

export function refuse(name: string, rule: string): never {
  throw new ScpError('E_SHAPE', `${name}: ${rule}`);
}

/** The member of that name; undefined when there is none. What objects inherit is no member. */
export function member(of: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined;
}

export function text(of: JsonObject, name: string, rule?: RegExp): string {
  const value = member(of, name);
  if (typeof value !== 'string') refuse(name, 'must be a text');
  if (rule && !rule.test(value)) refuse(name, 'breaks its form');
  return value;
}

export function nonEmpty(of: JsonObject, name: string, most: number): string {
  const value = text(of, name);
  if (value === '' || value.length > most) refuse(name, `must have 1 to ${most} characters`);
  return value;
}

export function count(of: JsonObject, name: string): number {
  const value = member(of, name);
  if (!Number.isSafeInteger(value) || (value as number) < 0) refuse(name, 'must be an integer from 0 to 2^53-1');
  return value as number;
}

export function flag(of: JsonObject, name: string): boolean {
  const value = member(of, name);
  if (typeof value !== 'boolean') refuse(name, 'must be true or false');
  return value;
}

export function object(of: JsonObject, name: string): JsonObject {
  const value = member(of, name);
  if (!isObject(value)) refuse(name, 'must be an object');
  return value;
}

export function list(of: JsonObject, name: string, most: number): Json[] {
  const value = member(of, name);
  if (!Array.isArray(value) || value.length > most) refuse(name, `must be a list of at most ${most}`);
  return value;
}

export function texts(of: JsonObject, name: string, most: number): string[] {
  return list(of, name, most).map((one) => (typeof one === 'string' ? one : refuse(name, 'must hold texts')));
}

/** base64url; `length` bytes where one is given. */
export function bytes(of: JsonObject, name: string, length?: number): Buffer {
  const value = unb64(text(of, name));
  if (!value || (length !== undefined && value.length !== length)) {
    refuse(name, length === undefined ? 'must be base64url' : `must be base64url of ${length} bytes`);
  }
  return value;
}

/** That `of` has no other members than these. */
export function onlyMembers(of: JsonObject, name: string, members: readonly string[]): void {
  if (Object.keys(of).some((one) => !members.includes(one))) {
    refuse(name, `has its members ${members.join(', ')} and no other`);
  }
}
