import { writeHeapSnapshot } from 'node:v8'
import { createLog } from '../../../src/observe/log.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { readSecretFile, readWalletKey } from '../../../src/signing/keys/keystore.ts'
import { createScrubber } from '../../../src/system/scrubber.ts'

/** Loads a key from its file as the daemon does, signs, logs, and dumps its memory. */
const [file = '', snapshot = ''] = process.argv.slice(2)
const scrubber = createScrubber()
const written: string[] = []
const destination = { write: (line: string) => written.push(line) }
const log = await createLog({ level: 'info', format: 'json', destination, scrubber })
const read = await readWalletKey(
  { type: 'privateKeyFile', file },
  { readFile: readSecretFile, env: {} },
)
if (!read.ok) throw new Error(read.message)
scrubber.addKey(read.key)
const signer = createKey(read.key)
const digest = `0x${'ab'.repeat(32)}` as const
log.info(`started as ${signer.address}`, { digest, signed: signer.signDigest(digest).length })
writeHeapSnapshot(snapshot)
process.send?.({ lines: written.length, address: signer.address })
