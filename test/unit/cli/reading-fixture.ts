import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExitCode, Io } from '../../../src/cli/process/io.ts'
import { Refusal } from '../../../src/cli/process/refusal.ts'
import { reportError } from '../../../src/cli/text/explain.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'
import { CONFIG, edit, STRATEGY } from '../config/config-fixture.ts'

/** The tokens of `journal-events.ts`, and a node URL without a server: a report reads the chain. */
const FILE = [
  ['0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', `0x${'b2'.repeat(20)}`],
  ['0x4200000000000000000000000000000000000006', `0x${'c3'.repeat(20)}`],
  ['https://rpc.example', 'http://127.0.0.1:9'],
].reduce((text, [from = '', to = '']) => edit(text, from, to), CONFIG)

/** A config, its strategy `weekly-eth` and a journal, in one temporary directory. */
export type Project = {
  readonly dir: string
  readonly config: string
  readonly stateDir: string
}

/** Time of the first record; each later record follows one second after. */
const FROM_MS = Date.UTC(2027, 0, 15, 8)

export async function aProject(
  events: readonly JournalEvent[],
  files: { readonly strategy?: string; readonly config?: (text: string) => string } = {},
): Promise<Project> {
  const dir = temporaryDirectory()
  const { strategy = STRATEGY, config: change = (text) => text } = files
  const [config, stateDir] = [join(dir, 'config.yaml'), join(dir, 'data')]
  mkdirSync(join(dir, 'strategies'))
  writeFileSync(join(dir, 'strategies', 'weekly-eth.yaml'), strategy)
  const folders = `stateDir: ${stateDir}\nstrategiesDir: ${dir}/strategies\n`
  writeFileSync(config, change(`${folders}${FILE}`))
  mkdirSync(stateDir)
  let nowMs = FROM_MS
  const { journal, close } = await openForTest(stateDir, { clock: { now: () => nowMs } })
  for (const event of events) {
    await journal.append(event)
    nowMs += 1_000
  }
  await close()
  return { dir, config, stateDir }
}

export type Printed = {
  readonly code: ExitCode
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command as the program does; on a terminal of the given width, or into a pipe. */
export async function printed(
  command: (io: Io) => Promise<ExitCode>,
  {
    columns,
    json = false,
  }: { readonly columns?: number | undefined; readonly json?: boolean } = {},
): Promise<Printed> {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const io = {
    env: {},
    stdout: { write: (part: string) => void out.push(part), ...terminal },
    stderr: { write: (part: string) => void err.push(part) },
  }
  const code = await command(io as unknown as Io).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    return reportError(error, io as unknown as Io, { json })
  })
  return { code, stdout: out.join(''), stderr: err.join('') }
}
