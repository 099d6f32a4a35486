// Opens a journal as a start after a kill does, and ends without closing it, so that the next opening finds the same.
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { openJournal } from '../../src/store/file/journal-file.ts'

const { dir, privateKey } = JSON.parse(process.argv[2])
const key = deriveJournalKey(Buffer.from(privateKey.slice(2), 'hex'))
const startedMs = performance.now()
const { lastSeq } = await openJournal({ dir, key, clock: { now: Date.now }, onFatal: () => {} })
const openedMs = performance.now() - startedMs
process.stdout.write(`${JSON.stringify({ lastSeq, openedMs })}\n`, () => process.exit(0))
