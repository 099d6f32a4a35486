import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from '../state/state-directory.ts'
import { PROGRAM } from './cli.ts'

export type Typed = { readonly code: number | null; readonly output: string }

/** The next input for each expected output, in turn; a signal is a key press. */
type Reaction = { readonly to: RegExp; readonly type?: string; readonly press?: NodeJS.Signals }

/** A shell in a new folder, in which `tranched` is installed. A typed `cd` applies to later commands. */
export function shell(env: Readonly<Record<string, string>> = {}) {
  const home = temporaryDirectory()
  mkdirSync(join(home, 'bin'))
  symlinkSync(PROGRAM, join(home, 'bin/tranched'))
  const entered: string[] = []
  const type = async (line: string, reactions: readonly Reaction[] = []): Promise<Typed> => {
    // Interactive, so that Ctrl-C ends the running command, not the shell.
    const child = spawn('sh', ['-c', ['trap : INT', ...entered, line].join('\n')], {
      cwd: home,
      env: {
        ...{ PATH: [join(home, 'bin'), process.env['PATH']].join(delimiter), HOME: home },
        ...{ TRANCHED_TEST_RUN: process.env['TRANCHED_TEST_RUN'], TRANCHED_HTTP_PORT: '0' },
        ANVIL_BIN: process.env['ANVIL_BIN'],
        ...env,
      },
      stdio: 'pipe',
      detached: true,
    })
    let isOver = false
    child.once('close', () => {
      isOver = true
    })
    const signal = (name: NodeJS.Signals): void => {
      if (child.pid !== undefined && !isOver) process.kill(-child.pid, name)
    }
    onTestFinished(() => signal('SIGKILL'))
    const left = reactions.slice()
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const [next] = left
        if (next === undefined || !next.to.test(output)) return
        left.shift()
        if (next.type !== undefined) child.stdin.write(next.type)
        if (next.press !== undefined) signal(next.press)
      })
    if (reactions.length === 0) child.stdin.end()
    const [code] = await once(child, 'close')
    if (line.startsWith('cd ')) entered.push(line)
    return { code, output }
  }
  return { home, type }
}
