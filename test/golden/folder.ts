import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import type { Io } from '../../src/cli/process/io.ts'
import { createProgram } from '../../src/cli/program/root.ts'
import { reportError } from '../../src/cli/text/explain.ts'

type Parts = Parameters<typeof createProgram>[0]

const DATA = 'test/golden/data'
/** After the last record of both journals. */
const NOW_MS = Date.UTC(2027, 0, 14, 11, 10)

/** Makes a folder with a config, strategies of every kind, and a state directory that holds a journal of `data`. */
export function folderWith(mode: 'live' | 'dry-run'): string {
  const dir = mkdtempSync(join(tmpdir(), 'tranched-golden-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  cpSync(join(DATA, 'folder'), dir, { recursive: true })
  mkdirSync(join(dir, 'state/journal'), { recursive: true })
  cpSync(join(DATA, `${mode}.jsonl`), join(dir, 'state/journal/000000000001.jsonl'))
  const config = join(dir, 'config.yaml')
  writeFileSync(config, readFileSync(config, 'utf8').replace('mode: live', `mode: ${mode}`))
  for (const name of ['', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })]) {
    const path = join(dir, name)
    chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600)
  }
  return dir
}

/** Sends both streams to `write`, and has no terminal to ask on. */
export function quietIo(write: (text: string) => void): Io {
  const stream = { write, isTTY: false } as unknown as NodeJS.WriteStream
  return {
    stdout: stream,
    stderr: stream,
    env: { TRADER_KEY: '42'.repeat(32), OPERATOR_KEY: '43'.repeat(32) },
    pid: 1,
    startedAs: undefined,
    ask: async () => undefined,
    confirm: async () => undefined,
    signalReady: () => undefined,
    onSignal: () => () => undefined,
    onHangup: () => () => undefined,
  }
}

/** The whole program. */
export function programOf(io: Io, does: Parts['does'] = async () => undefined) {
  return createProgram({ io, signals: {} as Parts['signals'], does })
}

/** Output of a command, both streams in order, with its exit code. `<dir>` stands for the folder's path. */
export async function printedBy(dir: string, line: string): Promise<string> {
  const printed: string[] = []
  const io = quietIo((text) => void printed.push(text))
  let code: number | undefined
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS })
  vi.stubEnv('TZ', 'UTC')
  try {
    const program = programOf(io, async (outcome) => {
      code = await outcome
    })
    const words = line.split(' ')
    await program.parseAsync(['node', 'tranched', ...words, '--config', join(dir, 'config.yaml')])
  } catch (error) {
    code = reportError(error, io, { json: line.includes('--json') })
  } finally {
    vi.useRealTimers()
    vi.unstubAllEnvs()
  }
  const text = printed.join('').replaceAll(relative('.', dir), '<dir>').replaceAll(dir, '<dir>')
  return `$ tranched ${line}\n${text}exit ${code}\n\n`
}

/** Output of several commands, run in order. */
export async function allPrintedBy(dir: string, lines: readonly string[]): Promise<string> {
  let text = ''
  for (const line of lines) text += await printedBy(dir, line)
  return text
}
