// Makes the side files that a journal lacks, as a daemon does beside its orders; prints how many and in which time.
import { VERSION } from '../../src/cli/process/version.ts'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { openJournal } from '../../src/store/file/journal-file.ts'
import { buildIndex } from '../../src/store/index/build-index.ts'
import { USDC_ASSET } from '../filled-order.mjs'

const { dir, archive, keepFiles, privateKey } = JSON.parse(process.argv[2])
const key = deriveJournalKey(Buffer.from(privateKey.slice(2), 'hex'))
const options = { dir, key, archive: { dir: archive, keepFiles }, onFatal: () => {} }
const { beside } = await openJournal({ ...options, clock: { now: Date.now } })
const made = { madeBy: VERSION, valueToken: USDC_ASSET.token, rest: async () => {} }
const startedMs = performance.now()
const files = await beside((on) => buildIndex({ ...on, ...made }))
const tookMs = performance.now() - startedMs
process.stdout.write(`${JSON.stringify({ files, tookMs })}\n`, () => process.exit(0))
