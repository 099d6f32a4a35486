import { createHmac } from 'node:crypto'
import type { JournalKey } from '../../../src/signing/keys/journal-key.ts'
import { OWNER } from './journal-events.ts'

/** A journal key that needs no elliptic curve library, which a bundled child cannot load. */
export const PLAIN_KEY: JournalKey = {
  address: OWNER,
  macOf: (what, hash) => createHmac('sha256', 'a test').update(`${what} ${hash}`).digest('hex'),
}
