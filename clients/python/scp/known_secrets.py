"""What stands in the place of a secret, and secrets that everybody knows: the lists of the service
(toolserver/settings/secret_strength.cc), and some words more."""

# Anywhere in a secret, of which small letters and digits alone count.
PLACEHOLDERS = (
    'changeme', 'changethis', 'changeit', 'replaceme', 'replacethis', 'replacewith', 'placeholder', 'example', 'yoursecret',
    'yourjwt', 'yourapi', 'yourkdf', 'yoursalt', 'yourkey', 'yourpassword', 'yourstrong', 'yourrandom', 'yoursuper',
    'yourtoken', 'yourown', 'secretkey', 'secrethere', 'keyhere', 'salthere', 'tokenhere', 'inserthere', 'insertyour',
    'putyour', 'enteryour', 'fillmein', 'mysecret', 'supersecret', 'topsecret', 'verysecret', 'notsecret', 'notasecret',
    'thesecret', 'sharedsecret', 'jwtsecret', 'apikey', 'kdfsalt', 'password', 'passw0rd', 'default', 'insecure', 'unsafe',
    'testtest', 'testkey', 'testsecret', 'testing', 'sample', 'dummy', 'developmentonly', 'donotuse', 'foobar', 'letmein',
    'opensesame', 'atleast32', 'atleast16', '32characters', '32chars', '16characters', '16chars', 'minimum32', 'minimum16',
    'randomchars', 'randomstring', 'randomcharacters', 'generateme', 'generatewith', 'opensslrand', 'uuidgen',
    'correcthorse', 'keyboardcat', '256bitsecret', '256bitslong',
)
TEMPLATES = ('<', '${', '{{')  # how a text begins that was to be replaced

# Compared whole, in any case of letters and without '=' at the end: of debuggers of JWTs, of RFC 7515, 7517, 7520, 6070 and 4231, of
# manuals, and hashes of nothing and of the favourites.
PUBLISHED = (
    'your-256-bit-secret', 'your-384-bit-secret', 'your-512-bit-secret', 'a-string-secret-at-least-256-bits-long',
    'a-valid-string-secret-that-is-at-least-384-bits-long',
    'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
    'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow', 'GawgguFyGrWKav7AX4VKUg',
    'hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg', 'AAPapAv4LbFbiVawEjagUBluYqN5rhna-8nuldDvOx8',
    'saltSALTsaltSALTsaltSALTsaltSALTsalt', 'passwordPASSWORDpassword', '4a656665',
    '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
    '192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    'correct horse battery staple', 'correct-horse-battery-staple', 'correcthorsebatterystaple', 'keyboard cat',
    'the quick brown fox jumps over the lazy dog', 'thequickbrownfoxjumpsoverthelazydog', 'lorem ipsum dolor sit amet',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8',
    '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b', 'd41d8cd98f00b204e9800998ecf8427e',
    '5f4dcc3b5aa765d61d8327deb882cf99', '5ebe2294ecd0e0f08eab7690d2a6ee69',
)


def known_rule(value):
    """The rule that a well-known `value` breaks, or None."""
    if value.rstrip('=').lower() in (one.lower() for one in PUBLISHED):
        return 'must not be a published one; make one with `securetool keygen secrets`'
    bare = ''.join(one for one in value.lower() if one in 'abcdefghijklmnopqrstuvwxyz0123456789')
    if value.startswith(TEMPLATES) or any(word in bare for word in PLACEHOLDERS):
        return 'must not be a placeholder; make one with `securetool keygen secrets`'
    return None
