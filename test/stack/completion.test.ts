import { spawn } from 'node:child_process'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROGRAM, ROOT } from '../support/process/cli.ts'
import { runProcess, temporaryDirectory } from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'

let directory: Awaited<ReturnType<typeof temporaryDirectory>>

const at = (name: string): string => join(directory.path, name)

beforeAll(async () => {
  directory = await temporaryDirectory()
  await mkdir(at('bin'))
  // Completion runs the real program; any other command only records its arguments.
  const lines = [
    '#!/bin/sh',
    `[ "$1" = complete ] && exec '${process.execPath}' '${PROGRAM}' "$@"`,
    `echo "$@" > '${at('typed')}'`,
  ]
  await writeFile(at('bin/tranched'), `${lines.join('\n')}\n`)
  await chmod(at('bin/tranched'), 0o755)
  for (const [shell, file] of [
    ['bash', 'script.bash'],
    ['zsh', '_tranched'],
    ['fish', 'script.fish'],
  ] as const) {
    const { code, stdout } = await runProcess(process.execPath, [PROGRAM, 'completion', shell])
    expect(code).toBe(0)
    await writeFile(at(file), stdout)
  }
})

afterAll(() => directory?.remove())

const path = (): string => `${at('bin')}:${process.env['PATH']}`

/** Types into a shell on a terminal, each part once the completion of the previous part is visible. */
async function type(
  shell: string,
  setUp: string,
  parts: readonly (readonly [typed: string, completed: string])[],
): Promise<string> {
  const child = spawn('script', ['-qc', shell, '/dev/null'], {
    cwd: ROOT,
    env: { ...process.env, PATH: path(), TERM: 'dumb', PS1: '> ' },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const seen = (text: string) =>
    waitFor(text, () => output.includes(text)).catch(() => {
      throw new Error(`no ${text} in: ${output}`)
    })
  try {
    child.stdin.write(`${setUp}; echo re''ady\n`)
    await seen('ready\r\n')
    for (const [typed, completed] of parts) {
      output = ''
      child.stdin.write(typed)
      await seen(completed)
    }
    child.stdin.write('\n')
    return await waitFor('what was typed', async () => readFile(at('typed'), 'utf8'))
  } finally {
    child.kill('SIGKILL')
  }
}

test.each([
  ['bash', 'bash --norc -i', () => `source ${at('script.bash')}`],
  [
    'zsh',
    'zsh -f -i',
    () => `fpath=(${directory.path} $fpath); autoload -Uz compinit; compinit -u -D`,
  ],
])('%s completes commands, options, names and files', async (_, shell, setUp) => {
  await rm(at('typed'), { force: true })
  const typed = await type(shell, setUp(), [
    ['tranched trig\t', 'trigger'],
    ['thr\t', 'threshold'],
    ['--conf\t', '--config'],
    ['config/sandb\t', 'sandbox.yaml'],
  ])
  expect(typed.trim().split(/ +/)).toEqual([
    'trigger',
    'threshold',
    '--config',
    'config/sandbox.yaml',
  ])
})

test('fish completes commands, options, names and files', async () => {
  const prefixes = [
    'tranched trig',
    'tranched trigger thr',
    'tranched run --conf',
    'tranched run --config config/sandb',
  ]
  const commands = prefixes.map((prefix) => `complete -C "${prefix}"`)
  const script = [`source ${at('script.fish')}`, ...commands].join('; ')
  const { code, stdout } = await runProcess('fish', ['--no-config', '-c', script], {
    env: { PATH: path() },
  })
  expect(code).toBe(0)
  expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual([
    'trigger',
    'threshold',
    '--config',
    'config/sandbox.yaml',
    '',
  ])
})
