import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PROGRAM, run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'

const ENV = {
  BASE_RPC_URL: 'https://rpc.example',
  GASLESS_URL: 'https://swap.example',
  GASLESS_SPENDER: `0x${'12'.repeat(20)}`,
}

type Typed = { readonly code: number | null; readonly output: string }

/** What is typed once something is shown, in turn; a signal is pressed. */
type Reaction = { readonly to: RegExp; readonly type?: string; readonly press?: NodeJS.Signals }

/** A shell in a folder of its own, in which `tranched` is installed. */
function shell() {
  const home = temporaryDirectory()
  mkdirSync(join(home, 'bin'))
  symlinkSync(PROGRAM, join(home, 'bin/tranched'))
  const entered: string[] = []
  const type = async (line: string, reactions: readonly Reaction[] = []): Promise<Typed> => {
    const child = spawn('bash', ['-c', [...entered, line].join('\n')], {
      cwd: home,
      env: {
        ...{ PATH: [join(home, 'bin'), process.env['PATH']].join(delimiter), HOME: home },
        ...{ TRANCHED_TEST_RUN: process.env['TRANCHED_TEST_RUN'], TRANCHED_HTTP_PORT: '0' },
        ANVIL_BIN: process.env['ANVIL_BIN'],
        ...ENV,
      },
      stdio: 'pipe',
      detached: true,
    })
    const signal = (name: NodeJS.Signals): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, name)
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

test('init says what to type next, and each line does what it says, typed as it stands', async () => {
  const { home, type } = shell()
  const made = await type("tranched init 'my bot' --kinds dca,call --json")
  expect(made.code).toBe(0)
  const { next } = JSON.parse(made.output) as { next: string[] }
  expect(next.filter((line) => !/^\(umask|^tranched /.test(line))).toEqual(["cd 'my bot'"])
  const told: Record<string, string> = {}
  for (const line of next) {
    // This one asks nodes and services that only a live daemon has.
    if (line.startsWith('tranched doctor')) continue
    const stop = { to: /filled buy-weth/, press: 'SIGINT' } as const
    const { code, output } = await type(line, line === 'tranched run' ? [stop] : [])
    expect([line, code, output]).toEqual([line, 0, output])
    told[line] = output
  }
  expect(told['tranched validate']).toMatch(/ok \(mode sandbox, 2 strategies .*, 2 enabled\)/)
  expect(told['tranched run']).toMatch(/stopped, nothing left open/)
  expect(told['tranched report']).toMatch(/WETH/)
  expect(told['tranched validate --config config/live.yaml']).toMatch(
    /ok \(mode live, 2 strategies of strategies, 0 enabled\)/,
  )
  const bot = join(home, 'my bot')
  for (const file of ['keys', 'keys/trader.pass', 'keys/trader.json'])
    expect(statSync(join(bot, file)).mode & 0o077).toBe(0)
  // Typed once more, the line that makes a password must not make another one: the key would be lost.
  const password = readFileSync(join(bot, 'keys/trader.pass'), 'utf8')
  expect((await type(next.find((line) => line.startsWith('(umask')) ?? '')).code).not.toBe(0)
  expect(readFileSync(join(bot, 'keys/trader.pass'), 'utf8')).toBe(password)
}, 60_000)

test('init asks nobody in a pipe, and calls the program as it was started', async () => {
  const { home, type } = shell()
  const made = await run(['init'], { cwd: home })
  expect([made.code, made.stderr]).toEqual([0, ''])
  const [, validate = ''] = /^ {2}(node .* validate)$/m.exec(made.stdout) ?? []
  expect((await type(validate)).output).toMatch(/ok \(mode sandbox, 1 strategy /)
  const again = await run(['init', '--json'], { cwd: home })
  expect([again.code, JSON.parse(again.stdout).written]).toEqual([0, []])
  const slip = await run(['init', '--kinds', 'dca,treshold'], { cwd: home })
  expect([slip.code, slip.stderr]).toEqual([2, expect.stringContaining('mean `threshold`?')])
}, 30_000)

test('init asks on a terminal, and Ctrl-C there ends it with nothing written', async () => {
  const { home, type } = shell()
  const begin = "script --quiet --return --command 'tranched init' /dev/null"
  const folder = /Folder to write into \[\.\]: /
  const broken = await type(begin, [{ to: folder, type: '\u0003' }])
  expect(broken).toMatchObject({ code: 1, output: expect.stringContaining('broken off: nothing') })
  expect(await type('ls')).toEqual({ code: 0, output: 'bin\n' })
  const done = await type(begin, [
    { to: folder, type: 'bot\r' },
    { to: /or all \[dca\]: /, type: 'twap\r' },
    { to: /Which of them \[live\]: /, type: '\r' },
  ])
  expect(done).toMatchObject({
    code: 0,
    output: expect.stringContaining('wrote  config/live.yaml'),
  })
  expect((await type('ls bot/strategies')).output).toContain('twap-day.yaml')
  expect(readFileSync(join(home, 'bot/config/live.yaml'), 'utf8')).toContain('mode: live')
}, 30_000)
