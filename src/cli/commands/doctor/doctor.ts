import type { Problem } from '../../../config/yaml/problem.ts'
import { emptyState } from '../../../domain/book/fields.ts'
import type { Settings } from '../../../domain/settings.ts'
import { openAsking } from '../../compose/checkup.ts'
import { holderOf } from '../../compose/state.ts'
import { openScrubber, secretsOf } from '../../compose/telling.ts'
import { readWalletAddress } from '../../compose/wallets.ts'
import { columnsOf, EXIT, type ExitCode, type Io, mayColour, printJson } from '../../io.ts'
import type { DoctorData } from '../../json/look.ts'
import {
  type ConfigOptions,
  problemsData,
  readSandboxRecord,
  settingsForReading,
} from '../../load.ts'
import { lookAtChains } from '../doctor/ask/chains.ts'
import { type KeysLooked, lookAtFiles, lookAtKeys } from '../doctor/ask/files.ts'
import type { Known } from '../doctor/ask/known.ts'
import { lookOutside } from '../doctor/ask/outside.ts'
import { daemonAtHand, lookAtState, stateAtHand } from '../doctor/ask/state.ts'
import { LOOK_MS_MAX, lookAndJudge } from '../doctor/bounded.ts'
import { type Check, ofProblem, unknown } from '../doctor/check.ts'
import { judgeDisk } from '../doctor/judge/disk.ts'
import { judgeNotify, judgeSupervisor } from '../doctor/judge/supervisor.ts'
import { reportText } from '../doctor/report.ts'

/** Before who waits is told what for. */
const SILENCE_MS = 1_000
/** A request ends before the look that it is part of. */
const REQUEST_MS_MAX = LOOK_MS_MAX - 500

/**
 * `tranched doctor`: asks everything that can be asked of keys, files, chains, services and disk, beside a daemon or without one, and
 * says of each what it found and what to do. Changes nothing; signs nothing but the login to the aggregation service.
 */
export async function doctor(
  options: ConfigOptions,
  io: Io,
  nowSeconds: number,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) {
    const checks = found.problems.map((problem) => ofProblem('config', 'fault', problem))
    print(checks, found.problems, { options, io })
    return EXIT.badConfig
  }
  const scrubber = openScrubber()
  for (const secret of await secretsOf(found.settings)) scrubber.add(secret)
  const settled = tellWaiting(options, io)
  try {
    const { settings } = found
    const files = await lookAtFiles(found, options, { io, nowSeconds })
    const keys = isUnmade(settings) ? NO_KEYS : await lookAtKeys(settings, { scrubber, io })
    const { strategies } = files
    const rest = await examine({ settings, strategies, keys, io })
    settled()
    const checks = [...files.checks, ...keys.checks, ...rest]
    const clean = checks.map((check) => scrubbed(check, (text) => scrubber.text(text)))
    print(clean, [], { options, io })
    return clean.some(({ verdict }) => verdict === 'fault') ? EXIT.failed : EXIT.done
  } finally {
    settled()
  }
}

type Examination = Pick<Known, 'settings' | 'strategies'> & {
  readonly keys: KeysLooked
  readonly io: Io
}

/** Chains first, for what else is asked of them goes to nodes that answer; what keeps this machine busy comes last. */
async function examine(input: Examination): Promise<readonly Check[]> {
  const { settings, strategies, keys, io } = input
  const found = await stateAtHand(settings)
  const state = found ?? emptyState()
  const { wallet } = settings.gasless
  const trader =
    keys.trader?.address ?? state.bound?.owner ?? (await readWalletAddress(settings, wallet, io))
  const addresses = { trader, operator: keys.operator?.address }
  const connect = (of: Settings) =>
    openAsking({
      ...{ settings: of, state, operator: keys.operator },
      ...{ timeoutMs: REQUEST_MS_MAX, env: io.env },
    })
  const asking = connect(settings)
  const outside: Check[] = []
  let genesisHash: `0x${string}` | undefined
  const absent = sandboxAbsent(settings)
  if (absent !== undefined) outside.push(absent)
  else {
    const chains = await lookAtChains({ settings }, asking)
    genesisHash = chains.genesisHash
    const reachable = { settings: chains.settings, strategies, state }
    const known = { ...reachable, owner: trader, operator: addresses.operator }
    const there = connect(chains.settings)
    outside.push(...chains.checks, ...(await lookOutside(known, there)))
    await there.close()
  }
  const { stateDir } = settings
  const { journalKey } = keys
  const own = await lookAtState({ settings, state: found, ...addresses, journalKey, genesisHash })
  const disk = await lookAndJudge(
    'disk-room',
    () => asking.disk(stateDir),
    (sight) => judgeDisk(stateDir, sight),
  )
  const pid = daemonAtHand(settings)
  const supervisor = await lookAndJudge(
    'supervisor',
    async () => (pid === undefined ? undefined : asking.supervisor(pid)),
    judgeSupervisor,
  )
  await asking.close()
  return [...outside, ...own, ...disk, ...supervisor, ...judgeNotify(settings)]
}

/** A sandbox makes its keys when it runs for the first time. */
function isUnmade({ mode, stateDir }: Settings): boolean {
  return mode === 'sandbox' && readSandboxRecord(stateDir) === undefined
}

const NO_KEYS: KeysLooked = {
  checks: [],
  trader: undefined,
  operator: undefined,
  journalKey: undefined,
}

/** A sandbox's chains and services live as long as the run that they belong to. */
function sandboxAbsent(settings: Settings): Check | undefined {
  if (settings.mode !== 'sandbox') return undefined
  if (!isUnmade(settings) && holderOf(settings.stateDir) !== undefined) return undefined
  return unknown(
    'sandbox',
    'no sandbox runs here, so its chains, services and wallets were not asked',
    '`tranched run` starts one',
  )
}

function scrubbed(check: Check, clean: (text: string) => string): Check {
  const { remedy, says, ...rest } = check
  const words = { ...rest, says: clean(says) }
  return remedy === undefined ? words : { ...words, remedy: clean(remedy) }
}

function print(
  checks: readonly Check[],
  problems: readonly Problem[],
  { options, io }: { readonly options: ConfigOptions; readonly io: Io },
): void {
  const ok = checks.every(({ verdict }) => verdict !== 'fault')
  const color = mayColour(io, io.stdout)
  if (options.json) {
    const told = checks.map((check) => ({ ...check, remedy: check.remedy ?? null }))
    printJson<DoctorData>(io, { ok, checks: told, problems: problemsData(problems) })
  } else io.stdout.write(`${reportText(checks, { color, columns: columnsOf(io) })}\n`)
}

/** One line for a person who waits; gives what takes it away again. */
function tellWaiting({ json }: ConfigOptions, { stderr }: Io): () => void {
  if (stderr.isTTY !== true || json === true) return () => undefined
  let isShown = false
  const timer = setTimeout(() => {
    isShown = true
    stderr.write('asking keys, chains, services and the disk ...')
  }, SILENCE_MS)
  return () => {
    clearTimeout(timer)
    if (isShown) stderr.write('\r\u001b[K')
    isShown = false
  }
}
