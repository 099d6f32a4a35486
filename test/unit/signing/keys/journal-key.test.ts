import { createHmac, hkdfSync } from 'node:crypto'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { deriveJournalKey } from '../../../../src/signing/keys/journal-key.ts'
import { createKey } from '../../../../src/signing/keys/key.ts'

const KEY = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
const HASH = `0x${'ab'.repeat(32)}` as const
const bytes = (): Uint8Array => Uint8Array.from(Buffer.from(KEY, 'hex'))

test('a journal key follows RFC 5869 from the wallet key, and its MAC RFC 2104', () => {
  const domain = 'tranched journal, format 2, message authentication'
  const derived = Buffer.from(hkdfSync('sha256', bytes(), '', domain, 32))
  const mac = createHmac('sha256', derived).update(`record ${HASH}`).digest('hex')
  expect(deriveJournalKey(bytes()).macOf('record', HASH)).toBe(mac)
})

test('a journal key belongs to one wallet and one use', () => {
  const own = deriveJournalKey(bytes())
  const other = deriveJournalKey(bytes().fill(1, 31))
  expect(own.address).toBe(createKey(bytes()).address)
  const macs = [
    own.macOf('record', HASH),
    own.macOf('snapshot', HASH),
    other.macOf('record', HASH),
    createHmac('sha256', bytes()).update(`record ${HASH}`).digest('hex'),
  ]
  expect(new Set(macs).size).toBe(macs.length)
})

test('a journal key works after the signer has wiped the wallet key', () => {
  const key = bytes()
  const journalKey = deriveJournalKey(key)
  const before = journalKey.macOf('record', HASH)
  expect(key).toEqual(bytes())
  createKey(key)
  expect(key).toEqual(new Uint8Array(32))
  expect(journalKey.macOf('record', HASH)).toBe(before)
})

test('a journal key never exposes the wallet key or itself', () => {
  const derived = Buffer.from(
    hkdfSync('sha256', bytes(), '', 'tranched journal, format 2, message authentication', 32),
  )
  const key = deriveJournalKey(bytes())
  const shown = `${JSON.stringify(key)}${inspect(key, { showHidden: true, depth: 10 })}${key.macOf}`
  for (const secret of [KEY, derived.toString('hex')])
    expect(shown).not.toContain(secret.slice(0, 10))
  expect(Object.isFrozen(key)).toBe(true)
})
