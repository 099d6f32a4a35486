import type { JournalKey } from '../../../../adapters/keys/journal-key.ts'
import { emptyState } from '../../../../domain/book/fields.ts'
import type { DaemonState } from '../../../../domain/book/state.ts'
import type { Settings } from '../../../../domain/settings.ts'
import type { Address, Hex } from '../../../../domain/units.ts'
import { type Approval, approvalsIn } from '../../../../engine/approvals.ts'
import { requireSame } from '../../../../engine/daemon.ts'
import { openAnchors } from '../../../compose/anchors.ts'
import { withClock } from '../../../compose/clock.ts'
import { askDaemon } from '../../../compose/control.ts'
import { haltOf, holderOf, isUsed, readState } from '../../../compose/state.ts'
import { STATE_CARE } from '../../../compose/state-care.ts'
import { look, lookAndJudge } from '../bounded.ts'
import { type Check, unknown } from '../check.ts'
import {
  judgeAnchor,
  judgeChangedCode,
  judgeHalt,
  judgeHolder,
  judgeOwner,
  judgeProof,
} from '../judge/state.ts'

/** A daemon that works answers at once. */
const DAEMON_MS_MAX = 2_000

/** The state as it is on disk: an empty one where there is none yet, and undefined where it cannot be read. */
export async function stateAtHand({ stateDir }: Settings): Promise<DaemonState | undefined> {
  const looked = await look('state-proof', () => readState(stateDir))
  return looked.ok ? (looked.value?.state ?? emptyState()) : undefined
}

/** The process that runs a daemon on this machine, if one does. */
export function daemonAtHand({ stateDir }: Settings): number | undefined {
  const holder = holderOf(stateDir)
  return holder?.standing === 'alive' ? holder.pid : undefined
}

export type StateInput = {
  readonly settings: Settings
  /** Undefined where it cannot be read. */
  readonly state: DaemonState | undefined
  readonly trader: Address | undefined
  readonly operator: Address | undefined
  readonly journalKey: JournalKey | undefined
  /** Of the gasless service's chain, where a node said it. */
  readonly genesisHash: Hex | undefined
}

/** Who holds the state, what halts it, whose it is, and whether it proves. Takes no lock and writes nothing. */
export async function lookAtState(input: StateInput): Promise<readonly Check[]> {
  const { settings, state } = input
  const { stateDir } = settings
  const checks = [
    ...(await lookAtHolder(stateDir)),
    haltedBy(stateDir, state),
    ...(state === undefined ? [] : judgeChangedCode(changedIn(state))),
    ...judgeBound(input),
    ...(await lookAtAnchors(input)),
  ]
  return [...checks, ...(await lookAtProof(input))]
}

async function lookAtHolder(stateDir: string): Promise<readonly Check[]> {
  const standing = holderOf(stateDir)
  if (standing === undefined) return [judgeHolder({ holder: undefined, answers: undefined })]
  const { pid, host, command } = standing
  const isCertain = standing.standing === 'alive'
  const isDaemon = isCertain && command === 'tranched run'
  const asked = isDaemon
    ? await askDaemon(stateDir, { command: 'status' }, DAEMON_MS_MAX)
    : undefined
  const answers = asked && asked.tag === 'answered'
  return [judgeHolder({ holder: { pid, host, command, isCertain }, answers })]
}

function haltedBy(stateDir: string, state: DaemonState | undefined): Check {
  const file = haltOf(stateDir)
  if (state === undefined && file === undefined)
    return unknown('halt', 'the state cannot be read, so it is not known what it says of a halt')
  return judgeHalt(state?.halted?.detail ?? file)
}

function changedIn(state: DaemonState): readonly Approval[] {
  return approvalsIn(state).filter(({ kind }) => kind === 'contract')
}

function judgeBound({ settings, state, trader, genesisHash }: StateInput): readonly Check[] {
  const bound = state?.bound
  if (bound === undefined || trader === undefined) return []
  const chainId = settings.chains.get(settings.gasless.chain)?.chainId ?? bound.chainId
  const now = { mode: settings.mode, chainId, genesisHash: genesisHash ?? bound.genesisHash }
  try {
    requireSame(bound, { ...now, owner: trader })
    return [judgeOwner(undefined)]
  } catch (error) {
    return [judgeOwner(error instanceof Error ? error.message : String(error))]
  }
}

/** Anchors are read before the state: a daemon beside this writes its journal first. */
async function lookAtAnchors({
  settings,
  trader,
  operator,
}: StateInput): Promise<readonly Check[]> {
  if (settings.mode !== 'live' || trader === undefined) return []
  return lookAndJudge(
    'anchor',
    () =>
      withClock(async (clock) => {
        const anchors = await openAnchors(settings, { trader, operator }, clock)
        const found = (await readState(settings.stateDir, anchors?.positions ?? [])) ?? NO_STATE
        const findings = (anchors?.findings(found) ?? []).map(({ words }) => words)
        return { findings, anchors: anchors?.positions.length ?? 0 }
      }),
    ({ findings, anchors }) => judgeAnchor(findings, anchors),
  )
}

const NO_STATE = {
  state: emptyState(),
  head: { seq: 0, hash: '0x' },
  hashes: new Map(),
  provenFrom: 0,
} as const

async function lookAtProof({ settings, journalKey }: StateInput): Promise<readonly Check[]> {
  const { stateDir, mode, journal } = settings
  const keyless = keylessBecause(mode, journalKey)
  return lookAndJudge(
    'state-proof',
    async () =>
      (await isUsed(stateDir))
        ? STATE_CARE.prove(stateDir, { key: journalKey, archive: journal.archive })
        : undefined,
    (proof) => judgeProof(proof, keyless),
  )
}

function keylessBecause(mode: Settings['mode'], key: JournalKey | undefined): string | undefined {
  if (mode === 'dry-run') return 'a dry-run signs nothing'
  return key === undefined ? "the trading wallet's key is not at hand" : undefined
}
