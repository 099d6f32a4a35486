import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WalletSource } from '../../../../src/domain/settings.ts'
import {
  createKeystore,
  readSecretFile,
  readWalletKey,
} from '../../../../src/signing/keys/keystore.ts'

// The two examples of the Web3 Secret Storage definition: one key, one password, both key derivations.
const KNOWN_KEY = '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d'
const KNOWN_PASSWORD = 'testpassword'
const PBKDF2_EXAMPLE = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: {
      c: 262144,
      dklen: 32,
      prf: 'hmac-sha256',
      salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
    },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
}
const SCRYPT_EXAMPLE = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
    ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
    kdf: 'scrypt',
    kdfparams: {
      dklen: 32,
      n: 262144,
      p: 8,
      r: 1,
      salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
    },
    mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
}

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tranched-keys-'))
})
afterEach(() => rm(dir, { recursive: true }))

async function put(name: string, text: string, mode = 0o600): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, text)
  await chmod(path, mode)
  return path
}

const read = (source: WalletSource, env: Record<string, string> = {}) =>
  readWalletKey(source, { readFile: readSecretFile, env })

async function readKeystore(file: object | string, password = KNOWN_PASSWORD) {
  const text = typeof file === 'string' ? file : JSON.stringify(file)
  return read({
    type: 'keystore',
    keystore: await put('wallet.json', text),
    passwordFile: await put('wallet.pass', password),
  })
}

async function hexOf(reply: ReturnType<typeof read>): Promise<string> {
  const found = await reply
  if (!found.ok) throw new Error(found.message)
  return Buffer.from(found.key).toString('hex')
}

test('reads keystores with either key derivation', async () => {
  expect(await hexOf(readKeystore(PBKDF2_EXAMPLE))).toBe(KNOWN_KEY)
  expect(await hexOf(readKeystore(SCRYPT_EXAMPLE))).toBe(KNOWN_KEY)
})

test('reads the capitalised Crypto of old files', async () => {
  const { crypto, ...rest } = PBKDF2_EXAMPLE
  expect(await hexOf(readKeystore({ ...rest, Crypto: crypto }))).toBe(KNOWN_KEY)
})

test.each(['\n', '\r\n'])('ignores the line break at the end of a password file', async (end) => {
  expect(await hexOf(readKeystore(PBKDF2_EXAMPLE, KNOWN_PASSWORD + end))).toBe(KNOWN_KEY)
})

test('keeps blanks in a password', async () => {
  expect(await readKeystore(PBKDF2_EXAMPLE, `${KNOWN_PASSWORD} `)).toMatchObject({ ok: false })
})

test('reports a wrong password with both files and without the password', async () => {
  const reply = await readKeystore(PBKDF2_EXAMPLE, 'hunter22')
  expect(reply).toEqual({
    ok: false,
    message: `the password in ${dir}/wallet.pass does not open ${dir}/wallet.json`,
    remedy: `check that ${dir}/wallet.pass holds the password of this keystore`,
  })
})

const crypto = PBKDF2_EXAMPLE.crypto
const damaged: readonly (readonly [string, object | string])[] = [
  ['no JSON', 'not json'],
  ['null', 'null'],
  ['another version', { ...PBKDF2_EXAMPLE, version: 1 }],
  ['no crypto', { version: 3 }],
  ['another cipher', { ...PBKDF2_EXAMPLE, crypto: { ...crypto, cipher: 'aes-128-cbc' } }],
  ['another derivation', { ...PBKDF2_EXAMPLE, crypto: { ...crypto, kdf: 'argon2' } }],
  [
    'another hash',
    { ...PBKDF2_EXAMPLE, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, prf: 'md5' } } },
  ],
  ['a short iv', { ...PBKDF2_EXAMPLE, crypto: { ...crypto, cipherparams: { iv: '6087' } } }],
  ['no mac', { ...PBKDF2_EXAMPLE, crypto: { ...crypto, mac: undefined } }],
  [
    'endless work',
    { ...PBKDF2_EXAMPLE, crypto: { ...crypto, kdfparams: { ...crypto.kdfparams, c: 1e12 } } },
  ],
  [
    'more memory than a machine has',
    {
      ...SCRYPT_EXAMPLE,
      crypto: {
        ...SCRYPT_EXAMPLE.crypto,
        kdfparams: { ...SCRYPT_EXAMPLE.crypto.kdfparams, n: 2 ** 40 },
      },
    },
  ],
  [
    'a work factor that is no power of two',
    {
      ...SCRYPT_EXAMPLE,
      crypto: {
        ...SCRYPT_EXAMPLE.crypto,
        kdfparams: { ...SCRYPT_EXAMPLE.crypto.kdfparams, n: 1000 },
      },
    },
  ],
  ['the address of another key', { ...PBKDF2_EXAMPLE, address: '00'.repeat(20) }],
]
test.each(damaged)('rejects a keystore with %s and suggests a remedy', async (_, file) => {
  const reply = await readKeystore(file)
  expect(reply).toMatchObject({ ok: false, remedy: 'restore the keystore from a backup' })
  expect(JSON.stringify(reply)).toContain(`${dir}/wallet.json`)
})

test.each([0o640, 0o604, 0o620, 0o660, 0o644])(
  'rejects secrets that other users may access: %o',
  async (mode) => {
    const [open, closed] = [await put('open', KNOWN_KEY, mode), await put('closed', 'x')]
    const remedy = `chmod 600 ${open}`
    const sources: readonly WalletSource[] = [
      { type: 'privateKeyFile', file: open },
      { type: 'keystore', keystore: open, passwordFile: closed },
      { type: 'keystore', keystore: closed, passwordFile: open },
    ]
    for (const source of sources) expect(await read(source)).toMatchObject({ ok: false, remedy })
  },
)

test.each([0o600, 0o400])('reads a file that only its owner can access: %o', async (mode) => {
  const file = await put('key', KNOWN_KEY, mode)
  expect(await hexOf(read({ type: 'privateKeyFile', file }))).toBe(KNOWN_KEY)
})

test.each([KNOWN_KEY, `0x${KNOWN_KEY}`, `0x${KNOWN_KEY.toUpperCase()}\n`, `  ${KNOWN_KEY}\r\n`])(
  'reads a private key with or without 0x, blanks and capitals',
  async (text) => {
    const file = await put('key', text)
    expect(await hexOf(read({ type: 'privateKeyFile', file }))).toBe(KNOWN_KEY)
    expect(await hexOf(read({ type: 'privateKeyEnv', name: 'KEY' }, { KEY: text }))).toBe(KNOWN_KEY)
  },
)

test.each([
  ['nothing', '\n'],
  ['too few digits', KNOWN_KEY.slice(2)],
  ['too many digits', `${KNOWN_KEY}00`],
  ['other letters', KNOWN_KEY.replace('7', 'g')],
  ['zero', '0'.repeat(64)],
  ['the group order', 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'],
])('rejects an invalid private key without repeating it: %s', async (_, text) => {
  const file = await put('key', text)
  for (const reply of [
    await read({ type: 'privateKeyFile', file }),
    await read({ type: 'privateKeyEnv', name: 'KEY' }, { KEY: text }),
  ]) {
    expect(reply.ok).toBe(false)
    expect(JSON.stringify(reply)).not.toContain(text.slice(4, 40).trim() || 'no private key at all')
  }
})

test('accepts the largest valid key', async () => {
  const largest = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140'
  expect(await hexOf(read({ type: 'privateKeyEnv', name: 'KEY' }, { KEY: largest }))).toBe(largest)
})

test('names a missing source', async () => {
  expect(await read({ type: 'privateKeyEnv', name: 'KEY' })).toMatchObject({
    ok: false,
    message: 'environment variable KEY is not set',
  })
  expect(await read({ type: 'privateKeyFile', file: join(dir, 'none') })).toMatchObject({
    ok: false,
    message: `there is no ${dir}/none`,
    remedy: 'put the private key, and nothing else, into it',
  })
  const keystore = join(dir, 'none.json')
  expect(await read({ type: 'keystore', keystore, passwordFile: join(dir, 'none') })).toEqual({
    ok: false,
    message: `there is no ${keystore}`,
    remedy: `restore it from a backup, or make one: \`tranched wallet new --out ${keystore}\``,
  })
})

test('rejects a file too long for a secret', async () => {
  const file = await put('key', 'x'.repeat(70_000))
  expect(await read({ type: 'privateKeyFile', file })).toMatchObject({ ok: false })
})

const newKey = () => Uint8Array.from(Buffer.from(KNOWN_KEY, 'hex'))

test('reads back a written keystore and its address', async () => {
  const file = join(dir, 'deeper', 'new.json')
  const password = 'correct horse'
  const made = await createKeystore({ file, key: newKey(), password, scryptN: 1024 })
  const address = privateKeyToAddress(`0x${KNOWN_KEY}`).toLowerCase()
  expect(made).toEqual({ ok: true, address })
  const passwordFile = await put('new.pass', password)
  expect(await hexOf(read({ type: 'keystore', keystore: file, passwordFile }))).toBe(KNOWN_KEY)
})

test('writes a keystore that only its owner can access, in the usual form, without the key', async () => {
  const file = join(dir, 'new.json')
  await createKeystore({ file, key: newKey(), password: 'x' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const text = await readFile(file, 'utf8')
  expect(text).not.toContain(KNOWN_KEY)
  expect(JSON.parse(text)).toMatchObject({
    address: privateKeyToAddress(`0x${KNOWN_KEY}`).slice(2).toLowerCase(),
    crypto: { cipher: 'aes-128-ctr', kdf: 'scrypt', kdfparams: { n: 262_144, r: 8, p: 1 } },
    version: 3,
  })
})

test('keeps the event loop running while it derives a key', async () => {
  let beats = 0
  const timer = setInterval(() => beats++, 5)
  await createKeystore({ file: join(dir, 'new.json'), key: newKey(), password: 'x' })
  clearInterval(timer)
  expect(beats).toBeGreaterThan(10)
})

test('writes two keystores of the same key and password with nothing in common', async () => {
  const options = { password: 'x', scryptN: 1024 }
  const texts: string[] = []
  for (const name of ['a', 'b']) {
    const file = join(dir, name)
    await createKeystore({ ...options, file, key: newKey() })
    texts.push(JSON.parse(await readFile(file, 'utf8')).crypto.ciphertext)
  }
  expect(texts[0]).not.toBe(texts[1])
})

test('never overwrites a file', async () => {
  const file = await put('precious', 'keep me')
  const reply = await createKeystore({ file, key: newKey(), password: 'x', scryptN: 1024 })
  expect(reply).toMatchObject({ ok: false, message: `${file} exists already` })
  expect(await readFile(file, 'utf8')).toBe('keep me')
})

test('leaves nothing behind at a path that cannot be written', async () => {
  const file = join(await put('a-file', ''), 'new.json')
  const reply = await createKeystore({ file, key: newKey(), password: 'x', scryptN: 1024 })
  expect(reply).toMatchObject({ ok: false })
  expect(await readdir(dir)).toEqual(['a-file'])
})

test('wipes the given key', async () => {
  const key = newKey()
  await createKeystore({ file: join(dir, 'new.json'), key, password: 'x', scryptN: 1024 })
  expect(key).toEqual(new Uint8Array(32))
})

test('rejects an empty password', async () => {
  const file = join(dir, 'new.json')
  expect(await createKeystore({ file, key: newKey(), password: '' })).toMatchObject({ ok: false })
  expect(await readKeystore(PBKDF2_EXAMPLE, '\n')).toMatchObject({ ok: false })
  expect(await readdir(dir)).not.toContain('new.json')
})
