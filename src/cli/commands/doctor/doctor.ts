import type { ConfigSettings } from '../../../config/settings/build.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { hasSwaps, type Settings } from '../../../domain/settings.ts'
import { emptyState } from '../../../journal/state/state-image.ts'
import { readLock } from '../../../store/lock/state-lock.ts'
import { createScrubber } from '../../../system/scrubber.ts'
import { openProbes, type Probes } from '../../compose/checkup.ts'
import { secretsOf } from '../../compose/observing.ts'
import { stateAtHand } from '../../compose/state.ts'
import { readWalletAddress } from '../../compose/wallets.ts'
import type { DoctorData } from '../../json/inspect-outputs.ts'
import { type ConfigOptions, readSandboxRecord, settingsForReading } from '../../load-files.ts'
import { columnsOf, EXIT, type ExitCode, type Io, mayColour, print } from '../../process/io.ts'
import {
  type Check,
  type Checks,
  inspect,
  type Known,
  ofProblem,
  READ_MS_MAX,
  read,
  reportText,
  unknown,
} from './check.ts'
import { inspectChains } from './check-chains.ts'
import { inspectContracts } from './check-contracts.ts'
import { inspectFiles, inspectKeys, type KeysRead } from './check-files.ts'
import { checkDisk, checkNotify, checkSupervisor } from './check-machine.ts'
import { checkMarket, inspectRights, marketOf } from './check-market.ts'
import { inspectGasless, inspectOperator, inspectQuote } from './check-services.ts'
import { daemonAtHand, inspectState } from './check-state.ts'

/** Delay before a waiting person sees the progress line. */
const SILENCE_MS = 1_000
/** A request times out before the reading that contains it. */
const REQUEST_MS_MAX = READ_MS_MAX - 500

/**
 * `tranched doctor`: checks keys, files, chains, services and disk, with or without a running daemon. Reports each result
 * with its remedy. Leaves nothing changed; signs only the login to the aggregation service.
 */
export async function doctor(
  options: ConfigOptions,
  io: Io,
  nowSeconds: number,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) {
    const checks = found.problems.map((problem) => ofProblem('config', 'fault', problem))
    report(checks, { options, io }, found.problems)
    return EXIT.badConfig
  }
  const scrubber = createScrubber()
  for (const secret of secretsOf(found.settings)) scrubber.add(secret)
  const settled = showWaiting(options, io)
  try {
    const { settings } = found
    const files = await inspectFiles(found, options, { io, nowSeconds })
    const keys = isUnmade(settings) ? NO_KEYS : await inspectKeys(settings, { scrubber, io })
    const rest = await examine(settings, files.strategies, { keys, io })
    settled()
    const clean = [...files.checks, ...keys.checks, ...rest].map(({ says, remedy, ...check }) => ({
      ...check,
      says: scrubber.text(says),
      ...(remedy === undefined ? {} : { remedy: scrubber.text(remedy) }),
    }))
    return report(clean, { options, io })
  } finally {
    settled()
  }
}

/** Chains come first, so that later requests go to nodes that answer. Checks that load this machine come last. */
async function examine(
  settings: ConfigSettings,
  strategies: Known['strategies'],
  { keys, io }: { readonly keys: KeysRead; readonly io: Io },
): Promise<readonly Check[]> {
  const found = await read('state-proof', () => stateAtHand(settings.stateDir))
  const state = found.ok ? found.value : emptyState()
  const { wallet } = settings.gasless
  const trader =
    keys.trader?.address ?? state.bound?.owner ?? (await readWalletAddress(settings, wallet, io))
  const addresses = { trader, operator: keys.operator?.address }
  const connection = { state, operator: keys.operator, timeoutMs: REQUEST_MS_MAX, env: io.env }
  const probes = openProbes({ ...connection, settings })
  const outside: Check[] = []
  let genesisHash: `0x${string}` | undefined
  const absent = sandboxAbsent(settings)
  if (absent !== undefined) outside.push(absent)
  else {
    const chains = await inspectChains({ settings }, probes)
    genesisHash = chains.genesisHash
    const found = { ...addresses, settings: chains.settings, strategies, state, owner: trader }
    const known = { ...found, genesisHash }
    const there = openProbes({ ...connection, settings: chains.settings })
    outside.push(...chains.checks, ...(await inspectOutside(known, there)))
    await there.close()
  }
  const { stateDir } = settings
  const { journalKey } = keys
  const readState = found.ok ? found.value : undefined
  const place = { settings, journalKey, genesisHash, ...addresses }
  const own = await inspectState({ ...place, state: readState })
  const disk = await inspect(
    'disk-room',
    () => probes.disk(stateDir),
    (snapshot) => checkDisk(stateDir, snapshot),
  )
  const pid = daemonAtHand(settings)
  const supervisor = await inspect(
    'supervisor',
    async () => (pid === undefined ? undefined : probes.supervisor(pid)),
    checkSupervisor,
  )
  await probes.close()
  return [...outside, own, disk, supervisor, checkNotify(settings)].flat()
}

/** Checks chains and services in parallel, on nodes known to answer. */
export async function inspectOutside(known: Known, probes: Probes): Promise<readonly Check[]> {
  const { chains } = known.settings
  const checks = await Promise.all([
    ...[...chains.values()].map((chain) => inspectContracts(known, chain, probes)),
    ...(hasSwaps(known.settings) ? inspectSwaps(known, probes) : []),
    inspectOperator(known, probes),
  ])
  return checks.flat()
}

function inspectSwaps(known: Known, probes: Probes): readonly Promise<Checks>[] {
  const market = read('wallet', () => marketOf(known, probes))
  return [
    market.then((found) => checkMarket(known, found)),
    inspectRights(known, probes),
    inspectGasless(known, probes),
    market.then((found) => inspectQuote(known, found, probes)),
  ]
}

/** A sandbox creates its keys on its first run. */
function isUnmade({ mode, stateDir }: Settings): boolean {
  return mode === 'sandbox' && readSandboxRecord(stateDir) === undefined
}

const NO_KEYS: KeysRead = { checks: [] }

/** A sandbox's chains and services exist only during its run. */
function sandboxAbsent(settings: Settings): Check | undefined {
  if (settings.mode !== 'sandbox') return undefined
  if (!isUnmade(settings) && readLock(settings.stateDir) !== undefined) return undefined
  const says = 'no sandbox runs here, so its chains, services and wallets were not checked'
  return unknown('sandbox', says, '`tranched run` starts one')
}

function report(
  checks: readonly Check[],
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
  problems: readonly Problem[] = [],
): ExitCode {
  const ok = checks.every(({ verdict }) => verdict !== 'fault')
  const color = mayColour(io, io.stdout)
  const data = checks.map((check) => ({ ...check, remedy: check.remedy ?? null }))
  return print<DoctorData>(io, options, { ok, checks: data, problems }, () => [
    reportText(checks, { color, columns: columnsOf(io) }),
  ])
}

/** Shows one line to a waiting person; returns a function that removes it. */
function showWaiting({ json }: ConfigOptions, { stderr }: Io): () => void {
  if (stderr.isTTY !== true || json === true) return () => undefined
  let isShown = false
  const timer = setTimeout(() => {
    isShown = true
    stderr.write('checking keys, chains, services and the disk ...')
  }, SILENCE_MS)
  return () => {
    clearTimeout(timer)
    if (isShown) stderr.write('\r\u001b[K')
    isShown = false
  }
}
