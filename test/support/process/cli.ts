import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { WAIT_MS_MAX } from '../wait-for.ts'
import { statesOf } from './kill.ts'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The program as shipped. TRANCHED_BIN selects another build. */
export const PROGRAM = process.env['TRANCHED_BIN'] ?? join(ROOT, 'dist/tranched.js')
const CONTAINED = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

export type StartOptions = {
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Runs in a new PID namespace, like another container of this host. `pid` is that of the namespace's holder. */
  readonly isContained?: boolean | undefined
  /** Runs beside others that start in the same enclosure, where no other process is visible. */
  readonly enclosure?: Enclosure | undefined
}

/** A PID namespace with its own mounts that lasts for a test. */
export type Enclosure = {
  /** The prefix of a command line that runs inside. The `pid` of such a process is that of nsenter, outside. */
  readonly enter: readonly string[]
  /** Runs a command inside, to its end. */
  do(...command: readonly string[]): void
}

/** Makes a namespace: only there may a test affect every running daemon. */
export async function enclose(): Promise<Enclosure> {
  const [file = '', ...rest] = [...CONTAINED, 'sh', '-c', 'echo ready; exec sleep infinity']
  const holder = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const { pid } = holder
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const enter = ['nsenter', '--target', children.trim(), '--pid', '--mount', '--wd=.']
  return {
    enter,
    do(...command) {
      const [program = '', ...args] = [...enter, ...command]
      const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
      if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`)
    },
  }
}

export type Ended = {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The program in a separate process group, with all output captured from its first byte. */
export type Running = {
  readonly pid: number
  /** Resolves once it has ended in any way; rejects if it takes too long from this call on. */
  ended(): Promise<Ended>
  /** All output so far, on both streams. */
  output(): string
  /** The match of `pattern` that completes this many in the output; rejects if the program ends without it. */
  sees(pattern: RegExp, times?: number): Promise<RegExpExecArray>
  /** How often the output matches so far. */
  counts(pattern: RegExp): number
  /** Signals only the program, as a supervisor does. */
  signal(name: NodeJS.Signals): void
  /** Ends it like a power cut, and waits until it is gone. */
  killHard(): Promise<void>
  /** Sends SIGTERM and returns the result. */
  stop(): Promise<Ended>
}

/** Whether this process may make PID namespaces, which requires permissions that not every machine grants. */
export function mayContain(): boolean {
  const [file, ...rest] = [...CONTAINED, 'true'] as const
  return spawnSync(file ?? '', rest).status === 0
}

/** Starts the built program. The process group ends with the test, however it goes. */
export function start(args: readonly string[], options: StartOptions = {}): Running {
  const running = launch(args, options)
  onTestFinished(running.killHard)
  return running
}

/** The same for a program that several tests share: the caller ends it with `killHard`. */
export function launch(args: readonly string[], options: StartOptions = {}): Running {
  if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is not built: run npm run build`)
  const around = options.isContained === true ? CONTAINED : (options.enclosure?.enter ?? [])
  const [file = '', ...rest] = [...around, process.execPath, PROGRAM, ...args]
  const child = spawn(file, rest, {
    cwd: options.cwd,
    env: { ...inherited(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the program could not be started')
  const printed = collectOutput(child)
  const ended = once(child, 'close').then(
    ([code, signal]): Ended => ({ code, signal, stdout: printed.stdout, stderr: printed.stderr }),
  )
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const output = (): string => printed.stdout + printed.stderr
  const untilEnded = (): Promise<Ended> =>
    within(ended, () => `the program did not end; it printed:\n${output()}`)
  const killHard = async (): Promise<void> => {
    if (!isOver) killGroup(pid)
    await ended
  }
  return {
    pid,
    ended: untilEnded,
    output,
    killHard,
    signal: (name) => void child.kill(name),
    stop() {
      child.kill('SIGTERM')
      return untilEnded()
    },
    counts: (pattern) => matchesOf(pattern, output()).length,
    sees: (pattern, times = 1) =>
      printed.sees(pattern, times).catch((error: Error) => {
        throw new Error(`${error.message}\nwhat runs of it: ${statesOf(pid)}`, { cause: error })
      }),
  }
}

/** Runs a command to its end. */
export function run(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
  return start(args, options).ended()
}

/** Without the variables that change a config; the marker by which survivors are found stays. */
function inherited(): Record<string, string | undefined> {
  const kept = ['PATH', 'HOME', 'ANVIL_BIN', 'TRANCHED_TEST_RUN']
  return Object.fromEntries(kept.map((name) => [name, process.env[name]]))
}

type Printed = {
  stdout: string
  stderr: string
  sees(pattern: RegExp, times: number): Promise<RegExpExecArray>
}

function matchesOf(pattern: RegExp, text: string): readonly RegExpExecArray[] {
  return [...text.matchAll(new RegExp(pattern, `g${pattern.flags}`))]
}

function collectOutput(child: ChildProcess): Printed {
  const arrivals = new EventEmitter().setMaxListeners(0)
  const printed: Printed = {
    stdout: '',
    stderr: '',
    async sees(pattern, times) {
      const deadline = AbortSignal.timeout(WAIT_MS_MAX)
      for (;;) {
        const text = printed.stdout + printed.stderr
        const found = matchesOf(pattern, text)[times - 1]
        if (found !== undefined) return found
        const isOver = child.stdout?.readableEnded === true && child.stderr?.readableEnded === true
        if (isOver || deadline.aborted)
          throw new Error(`not ${times} times ${pattern} in what was printed:\n${text}`)
        await once(arrivals, 'more', { signal: deadline }).catch(() => undefined)
      }
    },
  }
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name]?.setEncoding('utf8')
    stream?.on('data', (text: string) => {
      printed[name] += text
      arrivals.emit('more')
    })
    stream?.on('close', () => arrivals.emit('more'))
  }
  return printed
}

async function within(ended: Promise<Ended>, describe: () => string): Promise<Ended> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(describe())), WAIT_MS_MAX)
  })
  try {
    return await Promise.race([ended, late])
  } finally {
    clearTimeout(timer)
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The whole group has just ended by itself.
  }
}
