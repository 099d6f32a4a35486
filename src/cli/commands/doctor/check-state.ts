import { messageOf } from '../../../domain/errors.ts'
import type { Address, Hex } from '../../../domain/money/units.ts'
import type { Settings } from '../../../domain/settings.ts'
import { requireSame } from '../../../engine/daemon.ts'
import { approvalsIn } from '../../../engine/limits/approvals.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import { emptyState } from '../../../journal/state/state-image.ts'
import type { JournalKey } from '../../../signing/keys/journal-key.ts'
import { holdsState } from '../../../store/file/state-files.ts'
import type { HeldClaim } from '../../../store/lock/lock-claims.ts'
import { readLock } from '../../../store/lock/state-lock.ts'
import { proveState, type StateProof } from '../../../store/maintenance/state-proof.ts'
import { askDaemon, haltOf } from '../../compose/daemons.ts'
import { chainOf } from '../../compose/services.ts'
import { readinessOf, readState, withClock } from '../../compose/state.ts'
import { openAnchors } from '../../compose/wallets.ts'
import { type Check, type Checks, fault, fine, inspect, unknown, warning } from './check.ts'

type HolderInput = {
  readonly holder: Pick<HeldClaim, 'pid' | 'host' | 'command' | 'status'> | undefined
  /** True if the daemon's socket answers; undefined if it was not asked. */
  readonly answers: boolean | undefined
  /** What `/readyz` says of a daemon whose socket does not answer. */
  readonly reasons?: readonly string[] | undefined
}

export function checkHolder({ holder, answers, reasons = [] }: HolderInput): Check {
  if (holder === undefined) return fine('daemon', 'no daemon holds the state directory')
  const { pid, host, command } = holder
  if (holder.status !== 'alive')
    return warning(
      'daemon',
      `process ${pid} on ${host} has claimed the state directory (${command}); whether it runs cannot be checked from here`,
      'nothing if another container or machine runs it; else a new daemon takes over after 30 s without a sign of life',
    )
  if (answers === false && reasons.length > 0)
    return warning(
      'daemon',
      `process ${pid} runs and is not ready: ${reasons.join('; ')}`,
      'mend what it names; it goes on by itself',
    )
  if (answers === false)
    return fault(
      'daemon',
      `process ${pid} holds the state directory (${command}) but does not answer`,
      `it is starting, stopping or hung: retry, else \`kill -9 ${pid}\`, which loses nothing in the journal`,
    )
  return fine('daemon', `process ${pid} runs (${command})`)
}

/** `halted`: why nothing is signed; undefined without a halt. */
export function checkHalt(halted: string | undefined): Check {
  if (halted === undefined) return fine('halt', 'nothing is halted')
  return warning('halt', `everything is halted: ${halted}`, 'once you know why, `tranched resume`')
}

function checkChangedCode(state: DaemonState): Checks {
  const changed = approvalsIn(state).filter(({ kind }) => kind === 'contract')
  if (changed.length === 0) return fine('contract-code', "no contract's code waits for approval")
  return changed.map(({ name, detail }) =>
    fault(
      'contract-code',
      `nothing that depends on ${name} is signed: ${detail}`,
      `find out why it changed, then \`tranched approve ${name}\``,
    ),
  )
}

/** `strange` says why the state belongs to another wallet, chain or mode. */
export function checkOwner(strange: string | undefined): Check {
  if (strange === undefined)
    return fine('state-owner', "the state belongs to the config's wallet, chain and mode")
  return fault('state-owner', strange, 'correct the config, or use another `stateDir`')
}

/** Conflicts between the wallets' anchors and the state, in the messages that refuse a start. */
export function checkAnchor(findings: readonly string[], anchors: number): Checks {
  if (findings.length === 0 && anchors === 0)
    return fine('anchor', 'no anchor yet: the first live run creates it')
  if (findings.length === 0) return fine('anchor', 'the anchor matches the state')
  return findings.map((words) => {
    const [says = '', ...rest] = words.split('\n')
    const ways = rest.flatMap((line) => /^ *\d+\. (.*)$/.exec(line)?.[1] ?? [])
    const remedy = ways.length === 0 ? 'see docs/recovery.md' : ways.join('; or ')
    return fault('anchor', says, remedy)
  })
}

/** Checks the state's proof. `proof` is undefined without a state. `keyless` says why authorship was not checked. */
export function checkProof(
  proof: Pick<StateProof, 'journalFault' | 'snapshotFault' | 'records' | 'missing'> | undefined,
  keyless: string | undefined,
): Checks {
  if (proof === undefined) return fine('state-proof', 'no state yet: the first run creates it')
  const { journalFault, snapshotFault, records, missing } = proof
  const faults = [journalFault, snapshotFault].flatMap((each) => each ?? [])
  if (faults.length > 0)
    return faults.map(({ file, detail, remedy }) =>
      fault('state-proof', `${file}: ${detail}`, remedy),
    )
  const part = missing === undefined ? '' : ', others are not here'
  const says = `${records} records are intact${part}`
  if (keyless === undefined) return fine('state-proof', `${says}, written by this wallet's daemon`)
  return unknown('state-proof', `${says}; their author was not checked: ${keyless}`)
}

/** A healthy daemon answers at once. */
const DAEMON_MS_MAX = 2_000

/** Pid of the live process that holds the state directory on this machine, if any. */
export function daemonAtHand({ stateDir }: Settings): number | undefined {
  const holder = readLock(stateDir)
  return holder?.status === 'alive' ? holder.pid : undefined
}

type StateInput = {
  readonly settings: Settings
  /** Undefined if it cannot be read. */
  readonly state: DaemonState | undefined
  readonly trader: Address | undefined
  readonly operator: Address | undefined
  readonly journalKey: JournalKey | undefined
  /** First block of the gasless service's chain, if a node reported it. */
  readonly genesisHash: Hex | undefined
}

/** Checks the state's holder, halt, owner and proof. Takes no lock and writes nothing. */
export async function inspectState(input: StateInput): Promise<Checks> {
  const { settings, state } = input
  const { stateDir } = settings
  return [
    await inspectHolder(settings),
    haltedBy(stateDir, state),
    state === undefined ? [] : checkChangedCode(state),
    checkBound(input),
    await inspectAnchors(input),
    await inspectProof(input),
  ].flat()
}

async function inspectHolder(settings: Settings): Promise<Checks> {
  const { stateDir } = settings
  const holder = readLock(stateDir)
  if (holder?.status !== 'alive' || holder.command !== 'tranched run')
    return checkHolder({ holder, answers: undefined })
  const reply = await askDaemon(stateDir, { command: 'status' }, DAEMON_MS_MAX)
  const isSilent = reply.tag !== 'answered'
  const starting = isSilent ? await readinessOf(settings) : undefined
  return checkHolder({ holder, answers: !isSilent, reasons: starting?.reasons })
}

function haltedBy(stateDir: string, state: DaemonState | undefined): Check {
  const file = haltOf(stateDir)
  if (state === undefined && file === undefined)
    return unknown('halt', 'the state cannot be read, so it is unknown whether it is halted')
  return checkHalt(state?.halted?.detail ?? file)
}

function checkBound({ settings, state, trader, genesisHash }: StateInput): Checks {
  const bound = state?.bound
  if (bound === undefined || trader === undefined) return []
  const { chainId } = chainOf(settings, settings.gasless.chain)
  const now = { mode: settings.mode, chainId, genesisHash: genesisHash ?? bound.genesisHash }
  try {
    requireSame(bound, { ...now, owner: trader })
    return checkOwner(undefined)
  } catch (error) {
    return checkOwner(messageOf(error))
  }
}

/** Reads anchors before the state, because a concurrent daemon writes its journal first. */
async function inspectAnchors({ settings, trader, operator }: StateInput): Promise<Checks> {
  if (settings.mode !== 'live' || trader === undefined) return []
  return inspect(
    'anchor',
    () =>
      withClock(async (clock) => {
        const anchors = await openAnchors(settings, { trader, operator }, clock)
        const found = (await readState(settings.stateDir, anchors?.positions ?? [])) ?? NO_STATE
        const findings = anchors?.findings(found) ?? []
        return { findings, anchors: anchors?.positions.length ?? 0 }
      }),
    ({ findings, anchors }) => checkAnchor(findings, anchors),
  )
}

const NO_STATE = {
  state: emptyState(),
  head: { seq: 0, hash: '0x' },
  hashes: new Map(),
  provenFrom: 0,
} as const

async function inspectProof({ settings, journalKey }: StateInput): Promise<Checks> {
  const { stateDir, mode, journal } = settings
  const missing = journalKey === undefined ? "the trading wallet's key is not available" : undefined
  const keyless = mode === 'dry-run' ? 'a dry-run signs nothing' : missing
  return inspect(
    'state-proof',
    async () =>
      (await holdsState(stateDir))
        ? proveState(stateDir, { key: journalKey, archive: journal.archive })
        : undefined,
    (proof) => checkProof(proof, keyless),
  )
}
