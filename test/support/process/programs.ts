import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './cli.ts'

const OUTPUT_MAX = 1_000_000
const STOP_MS = 40_000

/** A program under test and all its output. */
export type Running = {
  readonly pid: number
  output(): string
  /** Resolves with the exit code, or with the signal's name. */
  readonly exited: Promise<number | string>
  /** Sends SIGTERM, waits, and kills the program after 40 s. */
  stop(): Promise<number | string>
}

/** Starts a program and captures its output in memory. */
export function startProcess(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_MAX)
    })
  const exited = exitOf(child)
  return {
    pid: child.pid ?? 0,
    output: () => output,
    exited,
    async stop() {
      child.kill('SIGTERM')
      const killer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      return exited.finally(() => clearTimeout(killer))
    },
  }
}

function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
}

/** Runs a program to its end. `input` goes to its standard input. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...options.env } })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // A program that does not read its input may have ended before it was written.
  child.stdin.on('error', () => undefined).end(options.input ?? '')
  return { code: await exitOf(child), stdout, stderr }
}

/** A port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

/** A new directory and a function that removes it. */
export async function temporaryDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'tranched-stack-'))
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}

/** Value of one series in an exposition, by the text before the value. */
export function sample(exposition: string, series: string): number | undefined {
  const line = exposition.split('\n').find((text) => text.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}
