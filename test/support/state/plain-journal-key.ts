import { createHmac } from 'node:crypto'
import type { JournalKey } from '../../../src/signing/keys/journal-key.ts'
import { OWNER } from './journal-story.ts'

/** A journal key that no curve has to be loaded for, which a bundled child cannot. */
export const PLAIN_KEY: JournalKey = {
  address: OWNER,
  macOf: (what, hash) => createHmac('sha256', 'a test').update(`${what} ${hash}`).digest('hex'),
}
