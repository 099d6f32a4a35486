import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../../src/domain/random.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { segmentOf } from '../state/state-directory.ts'
import { waitFor } from '../wait-for.ts'

type Status = { readonly pid: number; readonly parent: number }

/** Every process under `pid`, read from /proc: children, their children, and so on. */
export function descendantsOf(pid: number): readonly number[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statusOf(name) : []))
  const found: number[] = []
  for (let generation = [pid]; generation.length > 0; ) {
    const parents = new Set(generation)
    generation = all.filter(({ parent }) => parents.has(parent)).map((each) => each.pid)
    found.push(...generation)
  }
  return found
}

/** State, kernel wait and command line of a process and its descendants: part of the error of a timed-out wait. */
export function statesOf(pid: number): string {
  const seen = [pid, ...descendantsOf(pid)].map((each) => {
    const [stat = '', wchan, command = ''] = ['stat', 'wchan', 'cmdline'].map((name) => {
      try {
        return readFileSync(`/proc/${each}/${name}`, 'utf8')
      } catch {
        return 'gone'
      }
    })
    const state = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0]
    return `${each} ${state} in ${wchan}: ${command.replaceAll('\0', ' ').slice(0, 300)}`
  })
  return seen.join('; ')
}

/** False for a process that waits to be reaped. */
export function isRunning(pid: number): boolean {
  return statusOf(String(pid)).length > 0
}

/** Resolves once none of the processes runs any more. A process that waits to be reaped counts as ended. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  await waitFor('processes to end', () => pids.filter(isRunning), [])
}

/** Empty for a process that has ended, reaped or not. Fields as in proc_pid_stat(5), counted after the name. */
function statusOf(pid: string): readonly Status[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' || state === 'X' ? [] : [{ pid: Number(pid), parent: Number(parent) }]
  } catch {
    return []
  }
}

/** A position in a journal from which to watch appends. */
export type JournalMark = { readonly file: string; readonly bytes: number }

/** The current end of the journal, whether it exists yet or not. */
export function markJournal(stateDir: string): JournalMark {
  const file = segmentOf(stateDir)
  return { file, bytes: existsSync(file) ? statSync(file).size : 0 }
}

/** Resolves a few milliseconds after this many events of the type are in the journal behind the mark. */
export async function untilJournaled(
  mark: JournalMark,
  type: JournalEvent['type'],
  times = 1,
): Promise<void> {
  const count = () => textAfter(mark).split(`"event":{"type":"${type}"`).length - 1
  await waitFor(`${times} events ${type} in the journal`, count, (seen) => seen >= times)
}

export type Moment = {
  /** Kill the daemon at most this long after such an event is on disk, or after its start. */
  readonly after: JournalEvent['type'] | 'start'
  readonly delayMsMax: number
}

/** Starts a daemon for each moment, one after the other on the same state, and kills it then. */
export async function killAt(
  moments: readonly Moment[],
  stage: {
    readonly seed: number
    readonly stateDir: string
    start(): { killHard(): Promise<void> }
  },
): Promise<void> {
  const random = createRandom(`${stage.seed}`).fork('kill')
  for (const { after, delayMsMax } of moments) {
    const mark = markJournal(stage.stateDir)
    const victim = stage.start()
    if (after !== 'start') await untilJournaled(mark, after)
    await sleep(random.next() * delayMsMax)
    await victim.killHard()
  }
}

function textAfter({ file, bytes }: JournalMark): string {
  if (!existsSync(file)) return ''
  const fd = openSync(file, 'r')
  try {
    const data = Buffer.alloc(Math.max(0, fstatSync(fd).size - bytes))
    return data.toString('latin1', 0, readSync(fd, data, 0, data.length, bytes))
  } finally {
    closeSync(fd)
  }
}
