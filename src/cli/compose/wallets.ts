import { exposure } from '../../adapters/keys/exposure.ts'
import { deriveJournalKey, type JournalKey } from '../../adapters/keys/journal-key.ts'
import { createKey } from '../../adapters/keys/key.ts'
import {
  createKeystore,
  openKeystore,
  readPassword,
  readPrivately,
  readSecretFile,
  readWalletKey,
} from '../../adapters/keys/keystore.ts'
import { checkPrivateKey, parsePrivateKey } from '../../adapters/keys/private-key.ts'
import { addressOf, loadCurve } from '../../adapters/keys/secp256k1-curve.ts'
import { createWatchOnlyKey, readAddress } from '../../adapters/keys/watch-only-key.ts'
import { createScrubber, type Scrubber } from '../../adapters/tell/scrubber.ts'
import { type Problem, problemOf } from '../../config/yaml/problem.ts'
import { problemAt } from '../../config/yaml/problem-at.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Address } from '../../domain/units.ts'
import type { Key } from '../../ports.ts'
import type { Io } from '../io.ts'

export type ReadKey =
  | {
      readonly ok: true
      readonly key: Key
      /** What the wallet's daemon signs its records with; undefined in dry-run, which signs nothing. */
      readonly journalKey: JournalKey | undefined
    }
  | { readonly ok: false; readonly problem: Problem }

const NOT_STARTED = {
  message: 'no sandbox has run here yet',
  expected: 'a run first, which makes everything: `npm start`, or `tranched run`',
}

/** The key of a wallet, hidden from every log; or what is wrong with its key source. Dry-run has no key. */
export async function readKey(
  settings: Settings,
  wallet: string,
  { scrubber, io }: { readonly scrubber: Scrubber; readonly io: Io },
): Promise<ReadKey> {
  const source = settings.wallets.get(wallet)
  if (source === undefined) throw new Error(`wallet ${wallet} is not configured`)
  const isDry = settings.mode === 'dry-run'
  const open = isDry ? await readAddress(source) : undefined
  if (open !== undefined) return { ok: true, key: createWatchOnlyKey(open), journalKey: undefined }
  // A sandbox's key is worth nothing, and its daemon may be debugged.
  const exposed = settings.mode === 'sandbox' ? undefined : await exposure(io.env)
  const read = exposed ?? (await readWalletKey(source, { readFile: readSecretFile, env: io.env }))
  if (!read.ok) {
    // The keys of a sandbox are made by its first run: nobody has to put any into a file.
    if (settings.mode === 'sandbox')
      return { ok: false, problem: problemOf({ file: settings.stateDir, ...NOT_STARTED }) }
    const { message, remedy: expected } = read
    const fault = { path: ['wallets', wallet], message, expected }
    return { ok: false, problem: problemAt(settings.file, fault) }
  }
  scrubber.addKey(read.key)
  const journalKey = isDry ? undefined : deriveJournalKey(read.key)
  const key = createKey(read.key)
  return {
    ok: true,
    key: isDry ? createWatchOnlyKey(key.address) : key,
    journalKey,
  }
}

/** What is wrong with the keys of the wallets that a run would open. */
export async function keyProblems(settings: Settings, io: Io): Promise<readonly Problem[]> {
  const { gasless, aggregator } = settings
  const names = new Set([gasless.wallet, ...(aggregator === undefined ? [] : [aggregator.wallet])])
  const scrubber = createScrubber()
  const read = await Promise.all(
    [...names].map((name) => readKey(settings, name, { scrubber, io })),
  )
  return read.flatMap((each) => (each.ok ? [] : [each.problem]))
}

/** The key that the journal of a config is signed with: that of the wallet which trades. */
export async function readJournalKey(
  settings: Settings,
  io: Io,
): Promise<
  | { readonly ok: true; readonly key: JournalKey | undefined }
  | { readonly ok: false; readonly problem: Problem }
> {
  // Dry-run signs nothing: whatever it may read of a wallet, its journal is not signed.
  if (settings.mode === 'dry-run') return { ok: true, key: undefined }
  const scrubber = createScrubber()
  const read = await readKey(settings, settings.gasless.wallet, { scrubber, io })
  return read.ok ? { ok: true, key: read.journalKey } : read
}

/** The address of a wallet: as a keystore says in the open, or else by the key itself. */
export async function readWalletAddress(
  settings: Settings,
  wallet: string,
  io: Io,
): Promise<Address | undefined> {
  const source = settings.wallets.get(wallet)
  const open = source === undefined ? undefined : await readAddress(source)
  if (open !== undefined) return open
  const read = await readKey(settings, wallet, { scrubber: createScrubber(), io })
  return read.ok ? read.key.address : undefined
}

/** A wallet that signs nothing. */
export function watchOnly(address: Address): Key {
  return createWatchOnlyKey(address)
}

/** What the wallet commands do with keys and their files. */
export const KEYS = {
  exposure,
  createKeystore,
  openKeystore,
  readPassword,
  readPrivately,
  readSecretFile,
  readWalletKey,
  checkPrivateKey,
  parsePrivateKey,
  addressOf: (key: Uint8Array): Address => addressOf(key, loadCurve()),
} as const
