import { type Problem, problemOf } from '../../config/yaml/problem.ts'
import { problemAt } from '../../config/yaml/problem-at.ts'
import type { Address } from '../../domain/money/units.ts'
import { hasSwaps, type Settings } from '../../domain/settings.ts'
import type { SigningWallets } from '../../journal/anchor.ts'
import type { Clock, Key } from '../../ports.ts'
import { exposure } from '../../signing/keys/exposure.ts'
import { deriveJournalKey, type JournalKey } from '../../signing/keys/journal-key.ts'
import { createKey } from '../../signing/keys/key.ts'
import { readSecretFile, readWalletKey } from '../../signing/keys/keystore.ts'
import { createWatchOnlyKey, readAddress } from '../../signing/keys/watch-only-key.ts'
import { StateAnchors } from '../../store/anchor/anchor.ts'
import type { AnchorPlace } from '../../store/anchor/anchor-file.ts'
import type { HeldLock } from '../../store/lock/state-lock.ts'
import { claimWallet, type WalletClaim } from '../../store/lock/wallet-claim.ts'
import { createScrubber, type Scrubber } from '../../system/scrubber.ts'
import type { Io } from '../process/io.ts'
import { commandLine } from './daemons.ts'
import { chainOf } from './services.ts'

type ReadKey =
  | {
      readonly ok: true
      readonly key: Key
      /** Signs the journal's records; undefined in dry-run, which signs nothing. */
      readonly journalKey: JournalKey | undefined
    }
  | { readonly ok: false; readonly problem: Problem }

const NOT_STARTED = {
  message: 'no sandbox has run here yet',
  expected: 'a first run, which creates everything: `npm start`, or `tranched run`',
}

/** Reads a wallet's key and masks it in all logs. In dry-run returns a watch-only key. */
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
  // Skipped in a sandbox: its key is worthless, and its daemon may be debugged.
  const exposed = settings.mode === 'sandbox' ? undefined : await exposure(io.env)
  const read = exposed ?? (await readWalletKey(source, { readFile: readSecretFile, env: io.env }))
  if (!read.ok) {
    // A sandbox creates its keys on its first run.
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

/** The wallets of a config: of swaps and of calls. They are one wallet if nothing swaps; without calls there is no operator. */
export async function readWallets(
  settings: Settings,
  by: { readonly scrubber: Scrubber; readonly io: Io },
) {
  const { gasless, aggregator } = settings
  const trader = await readKey(settings, gasless.wallet, by)
  if (!trader.ok) return trader
  const operator =
    aggregator?.wallet === gasless.wallet
      ? trader
      : aggregator && (await readKey(settings, aggregator.wallet, by))
  if (operator !== undefined && !operator.ok) return operator
  const { key, journalKey, ok } = trader
  const addresses = { trader: key.address, operator: operator?.key.address }
  return { ok, trader: key, journalKey, operator: operator?.key, addresses }
}

export async function keyProblems(settings: Settings, io: Io): Promise<readonly Problem[]> {
  const { gasless, aggregator } = settings
  const names = new Set([gasless.wallet, ...(aggregator === undefined ? [] : [aggregator.wallet])])
  const scrubber = createScrubber()
  const read = await Promise.all(
    [...names].map((name) => readKey(settings, name, { scrubber, io })),
  )
  return read.flatMap((each) => (each.ok ? [] : [each.problem]))
}

/** The key that signs the journal, derived from the trading wallet's. */
export async function readJournalKey(
  settings: Settings,
  io: Io,
): Promise<
  | { readonly ok: true; readonly key: JournalKey | undefined }
  | { readonly ok: false; readonly problem: Problem }
> {
  // Dry-run never signs its journal, even if it can read a key.
  if (settings.mode === 'dry-run') return { ok: true, key: undefined }
  const scrubber = createScrubber()
  const read = await readKey(settings, settings.gasless.wallet, { scrubber, io })
  return read.ok ? { ok: true, key: read.journalKey } : read
}

/** From the keystore's plain address if it has one, otherwise from the key. */
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

/**
 * Reads the wallets' anchors (rule T3). Undefined outside `mode: live`, where records and signatures have no lasting value.
 * Throws AnchorRefusedError for an unreadable anchor.
 */
export async function openAnchors(
  settings: Settings,
  { trader, operator }: SigningWallets,
  clock: Clock,
): Promise<StateAnchors | undefined> {
  const { mode, stateDir, gasless, aggregator } = settings
  if (mode !== 'live') return undefined
  return StateAnchors.read({
    stateDir,
    clock,
    trader: trader && placeOf(settings, gasless, trader),
    operator: operator && aggregator && placeOf(settings, aggregator, operator),
  })
}

function placeOf(
  settings: Settings,
  { wallet: name, chain }: { readonly wallet: string; readonly chain: string },
  wallet: AnchorPlace['wallet'],
): AnchorPlace {
  const file = settings.anchors.get(name)
  if (file === undefined) throw new Error(`wallet ${name} has no anchor`)
  return { name, file, wallet, chainId: chainOf(settings, chain).chainId }
}

type Claimant = { readonly io: Io; readonly command: string; readonly lock: HeldLock }

/**
 * Claims the signing wallets on their chains while the state directory is held. Only in `mode: live`, where keys have value.
 * Throws StateLockedError if another process on this machine holds one.
 */
export async function claimWallets(
  settings: Settings,
  { trader, operator }: SigningWallets,
  { io, command, lock }: Claimant,
): Promise<WalletClaim> {
  const { mode, stateDir, gasless, aggregator } = settings
  const claims: WalletClaim[] = []
  const release = (): void => {
    for (const claim of claims) claim.release()
  }
  const calling = { wallet: operator, chain: aggregator?.chain ?? '' }
  // The same wallet on the same chain if nothing swaps.
  const wallets = hasSwaps(settings)
    ? [{ wallet: trader, chain: gasless.chain }, calling]
    : [calling]
  const known = { pid: io.pid, command: commandLine(command), startedAtMs: Date.now(), stateDir }
  try {
    for (const { wallet, chain } of mode === 'live' ? wallets : []) {
      if (wallet === undefined) continue
      const { chainId } = chainOf(settings, chain)
      claims.push(await claimWallet({ chainId, wallet }, known, lock))
    }
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

export async function whileClaimed<Result>(
  settings: Settings,
  wallets: SigningWallets,
  claimant: Claimant,
  task: () => Promise<Result>,
): Promise<Result> {
  const claim = await claimWallets(settings, wallets, claimant)
  try {
    return await task()
  } finally {
    claim.release()
  }
}
