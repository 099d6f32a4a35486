import type { StateProof } from '../../../../adapters/state/care/state-proof.ts'
import type { Approval } from '../../../../engine/approvals.ts'
import { type Check, fault, fine, unknown, warning } from '../check.ts'

/** Who holds a state directory, and whether a daemon there answers. */
export type HolderFacts = {
  readonly holder:
    | {
        readonly pid: number
        readonly host: string
        readonly command: string
        /** Nobody here can tell whether its process runs. */
        readonly isCertain: boolean
      }
    | undefined
  /** Of a daemon's socket; undefined where none was asked. */
  readonly answers: boolean | undefined
}

export function judgeHolder({ holder, answers }: HolderFacts): Check {
  if (holder === undefined) return fine('daemon', 'no daemon holds the state directory')
  const { pid, host, command, isCertain } = holder
  if (!isCertain)
    return warning(
      'daemon',
      `process ${pid} on ${host} has claimed the state directory (${command}), and nobody here can tell whether it runs`,
      'nothing, where another container or machine runs it; else a start takes it over after 30 s without a sign of life',
    )
  if (answers === false)
    return fault(
      'daemon',
      `process ${pid} holds the state directory (${command}) and does not answer`,
      `it hangs, starts or stops: ask again; else \`kill -9 ${pid}\`, which loses nothing that is in the journal`,
    )
  return fine('daemon', `process ${pid} runs (${command})`)
}

/** What keeps everything from being signed; undefined where nothing does. */
export function judgeHalt(halted: string | undefined): Check {
  if (halted === undefined) return fine('halt', 'nothing is halted')
  return warning('halt', `everything is halted: ${halted}`, 'once you know why, `tranched resume`')
}

/** Contracts whose code has changed, each in words. */
export function judgeChangedCode(changed: readonly Approval[]): readonly Check[] {
  if (changed.length === 0) return [fine('contract-code', 'no contract has code to be accepted')]
  return changed.map(({ name, detail }) =>
    fault(
      'contract-code',
      `nothing that depends on ${name} is signed: ${detail}`,
      `find out why it changed, then \`tranched approve ${name}\``,
    ),
  )
}

/** `strange` says why the state belongs to another wallet, chain or mode. */
export function judgeOwner(strange: string | undefined): Check {
  if (strange === undefined)
    return fine('state-owner', "the state is of the config's wallet, chain and mode")
  return fault('state-owner', strange, 'correct the config, or give another `stateDir`')
}

/** What the wallets' anchors say against the state that is there, in the words that a start is refused with. */
export function judgeAnchor(findings: readonly string[], anchors: number): readonly Check[] {
  if (findings.length === 0)
    return [
      fine(
        'anchor',
        anchors === 0
          ? 'there is no anchor yet: the first live run makes it'
          : 'the anchor agrees with the state',
      ),
    ]
  return findings.map((words) => {
    const [says = '', ...rest] = words.split('\n')
    const ways = rest.flatMap((line) => /^ *\d+\. (.*)$/.exec(line)?.[1] ?? [])
    return fault('anchor', says, ways.length === 0 ? READ : ways.join('; or '))
  })
}

const READ = 'docs/recovery.md says what to do'

/** The state's own proof; undefined where there is no state yet. `keyless` says why its authorship was not checked. */
export function judgeProof(
  proof: Pick<StateProof, 'journalFault' | 'snapshotFault' | 'records' | 'missing'> | undefined,
  keyless: string | undefined,
): readonly Check[] {
  if (proof === undefined)
    return [fine('state-proof', 'there is no state yet: the first run makes it')]
  const { journalFault, snapshotFault, records, missing } = proof
  const faults = [journalFault, snapshotFault].flatMap((each) => each ?? [])
  if (faults.length > 0)
    return faults.map(({ file, detail, remedy }) =>
      fault('state-proof', `${file}: ${detail}`, remedy),
    )
  const part = missing === undefined ? '' : ', as far as they are here'
  const says = `${records} records prove${part}`
  if (keyless === undefined)
    return [fine('state-proof', `${says}, written by this wallet's daemon`)]
  return [unknown('state-proof', `${says}; who wrote them was not checked: ${keyless}`)]
}
