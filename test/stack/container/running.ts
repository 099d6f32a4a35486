import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Running, runProcess, startProcess } from '../../support/process/programs.ts'
import { waitFor } from '../../support/wait-for.ts'
import { type Image, inLayers } from './builder.ts'
import type { Mount, Workshop } from './workshop.ts'

/** A container as an engine runs it: read-only root, no capabilities, and our program as its only process. */
export type Container = {
  /** Its process 1, as this machine numbers it. */
  readonly pid: number
  readonly process: Running
  /** Runs a command in it, as `docker exec` does. */
  exec(argv: readonly string[]): ReturnType<typeof runProcess>
  signal(name: NodeJS.Signals): void
  /** Ends it at once, unless it has ended. */
  kill(): Promise<void>
  /** Its processes now, by name and state. */
  processes(): readonly string[]
}

export type RunInput = {
  readonly workshop: Workshop
  readonly mounts: readonly Mount[]
  readonly env?: Readonly<Record<string, string>>
  /** Replaces the image's own command. */
  readonly argv?: readonly string[]
}

/** A named volume on its first use: the directory's contents in the image. */
export function volumeOf(image: Image, at: string, name: string, { path }: Workshop): Mount {
  const from = join(path, 'volumes', name)
  const { uid, gid, mode } = statSync(inLayers(image, at))
  mkdirSync(from, { recursive: true })
  chownSync(from, uid, gid)
  chmodSync(from, mode & 0o777)
  return { from, at }
}

export async function start(image: Image, input: RunInput): Promise<Container> {
  const own = environmentArgs(image, input)
  const [command, args] = commandOf(image, input)
  const process_ = startProcess(command, args)
  const pid = await waitFor('process 1', () => firstChildOf(process_.pid))
  const inside = ['--target', `${pid}`, '--mount', '--pid', '--root']
  return {
    pid,
    process: process_,
    exec: (more) => runProcess('nsenter', [...inside, ...own, ...more]),
    signal: (name) => void process.kill(pid, name),
    async kill() {
      // A namespace ends with its process 1.
      if (processesIn(pid).length > 0) process.kill(pid, 'SIGKILL')
      await process_.exited
    },
    processes: () => processesIn(pid),
  }
}

/** Runs a command to its end in a separate container. */
export function runOnce(image: Image, input: RunInput): ReturnType<typeof runProcess> {
  return runProcess(...commandOf(image, input))
}

function commandOf(image: Image, input: RunInput): readonly [string, readonly string[]] {
  const { workshop, mounts, argv = [...image.entrypoint, ...image.command] } = input
  const root = { layers: image.layers, isWritable: false, mounts }
  return workshop.inRoot(root, [...environmentArgs(image, input), ...argv])
}

function environmentArgs(
  { user, env, workdir }: Image,
  { env: more = {} }: RunInput,
): readonly string[] {
  const [uid = '', gid = ''] = user.split(':')
  const marker = process.env['TRANCHED_TEST_RUN'] ?? ''
  const all = {
    ...Object.fromEntries(env),
    HOME: '/nonexistent',
    TRANCHED_TEST_RUN: marker,
    ...more,
  }
  const rights = ['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs', '--clear-groups']
  const as = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, ...rights]
  const assigned = Object.entries(all).map(([name, value]) => `${name}=${value}`)
  return [...as, 'env', '-i', `--chdir=${workdir}`, ...assigned]
}

function firstChildOf(pid: number): number | undefined {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return first === '' ? undefined : Number(first)
}

function processesIn(pid: number): readonly string[] {
  const namespace = statSync(`/proc/${pid}/ns/pid`, { throwIfNoEntry: false })?.ino
  if (namespace === undefined) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        if (statSync(`/proc/${name}/ns/pid`).ino !== namespace) return []
        return [/\((.*)\) (\w)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[0] ?? '']
      } catch {
        // The process has ended meanwhile.
        return []
      }
    })
}
