import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/process/cli.ts'
import { shell } from '../support/process/shell.ts'

const ENV = {
  // No server listens there: `validate` would query it for prices.
  BASE_RPC_URL: 'http://127.0.0.1:9',
  GASLESS_URL: 'https://swap.example',
  GASLESS_SPENDER: `0x${'12'.repeat(20)}`,
}

test('init prints the next commands, and each one works when typed as printed', async () => {
  const { home, type } = shell(ENV)
  const made = await type("tranched init 'my bot' --kinds dca,call --json")
  expect(made.code).toBe(0)
  const { next } = JSON.parse(made.output) as { next: string[] }
  expect(next.filter((line) => !/^\(umask|^tranched /.test(line))).toEqual(["cd 'my bot'"])
  const outputs: Record<string, string> = {}
  for (const line of next) {
    // `doctor` queries nodes and services that only a live daemon has.
    if (line.startsWith('tranched doctor')) continue
    const stop = { to: /filled buy-weth/, press: 'SIGINT' } as const
    const { code, output } = await type(line, line === 'tranched run' ? [stop] : [])
    expect([line, code, output]).toEqual([line, 0, output])
    outputs[line] = output
  }
  expect(outputs['tranched validate']).toMatch(/ok \(mode sandbox, 2 strategies .*, 2 enabled\)/)
  expect(outputs['tranched run']).toMatch(/stopped, nothing left open/)
  expect(outputs['tranched report']).toMatch(/WETH/)
  expect(outputs['tranched validate --config config/live.yaml']).toMatch(
    /ok \(mode live, 2 strategies of strategies, 0 enabled\)/,
  )
  const bot = join(home, 'my bot')
  for (const file of ['keys', 'keys/trader.pass', 'keys/trader.json'])
    expect(statSync(join(bot, file)).mode & 0o077).toBe(0)
  // When typed again, the password line must not make another password: the key would be lost.
  const password = readFileSync(join(bot, 'keys/trader.pass'), 'utf8')
  expect((await type(next.find((line) => line.startsWith('(umask')) ?? '')).code).not.toBe(0)
  expect(readFileSync(join(bot, 'keys/trader.pass'), 'utf8')).toBe(password)
})

test('init does not prompt in a pipe, and prints the program name as it was started', async () => {
  const { home, type } = shell()
  const made = await run(['init'], { cwd: home })
  expect([made.code, made.stderr]).toEqual([0, ''])
  const [, validate = ''] = /^ {4}(node .* validate)$/m.exec(made.stdout) ?? []
  expect((await type(validate)).output).toMatch(/ok \(mode sandbox, 1 strategy /)
  const again = await run(['init', '--json'], { cwd: home })
  expect([again.code, JSON.parse(again.stdout).written]).toEqual([0, []])
  const slip = await run(['init', '--kinds', 'dca,treshold'], { cwd: home })
  expect([slip.code, slip.stderr]).toEqual([2, expect.stringContaining('mean `threshold`?')])
})
