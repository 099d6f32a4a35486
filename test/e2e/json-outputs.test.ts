import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { openWorkers } from '../../src/backtest/sweep/workers.ts'
import { OUTPUTS } from '../../src/cli/json/outputs.ts'
import { commandOf, failureOf, outputOf } from '../support/output-of.ts'
import { type Ended, ROOT, run } from '../support/process/cli.ts'
import { everySecond, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

/** Commands whose output was compared with their schemas. */
const seen = new Set<string>()

/** Runs command lines one after the other; each output must have the shape of its command. */
function talkingTo({ dir, config }: Rehearsal) {
  const type = (line: string, at: readonly string[] = ['--config', config]): Promise<Ended> =>
    run([...line.split(' '), '--json', ...at], { cwd: dir })
  const take = (line: string, stdout: string): unknown => {
    const data = outputOf<{ readonly ok?: boolean }>(line, stdout)
    seen.add(commandOf(line) ?? line)
    return data
  }
  const says = async (line: string, at?: readonly string[]): Promise<unknown> => {
    const { stdout, stderr } = await type(line, at)
    if (stdout === '') expect.unreachable(`${line} printed nothing on stdout, and ${stderr}`)
    if (!line.startsWith('export')) return take(line, stdout)
    return stdout
      .trimEnd()
      .split('\n')
      .map((entry) => take(line, entry))
  }
  return {
    type,
    take,
    says,
    all: (lines: readonly string[]) => Promise.all(lines.map((line) => says(line))),
  }
}

/** What a weekly digest reads in a thread of the daemon. */
async function digestLines(config: string): Promise<unknown> {
  const program = pathToFileURL(join(ROOT, 'dist/drift-worker.js'))
  const { answer, close } = openWorkers({ program, order: { config, json: true }, count: 1 })
  return answer({ fromMs: 0, untilMs: Date.now() }).finally(close)
}

test('the output of every command matches its schema, beside a daemon and without one', async () => {
  const rare = everySecond('rare', { schedule: { cron: '0 0 1 1 *' } })
  const rehearsal = await rehearse({ ...everySecond('buy-weth'), ...rare })
  const { dir, config } = rehearsal
  const { take, says, all } = talkingTo(rehearsal)
  take('sandbox', rehearsal.sandboxOutput())
  const daemon = rehearsal.daemon(['--json'])
  await daemon.sees(/filled buy-weth/)
  await all([
    'status',
    'history',
    'report --by strategy',
    'report --against-backtest',
    'export',
    'state verify',
    `state backup ${dir}/b.tar`,
  ])
  await says('ps', [])
  const { slots } = outputOf<{ slots: readonly { slot: string; outcome: string }[] }>(
    'history',
    (await run(['history', '--json', '--config', config])).stdout,
  )
  const filled = slots.find(({ outcome }) => outcome === 'filled')?.slot ?? ''
  await all([
    `why ${filled} --raw`,
    `settle ${filled}`,
    'trigger rare',
    'reload',
    'plan',
    'quote buy-weth',
  ])
  await says('buy 0.001 WETH --for USDC --yes')
  await says('sell 0.001 WETH --for USDC --yes')
  await says('approve')
  await says('pause buy-weth')
  await says('resume')
  await says('halt')
  const { code, stdout } = await daemon.stop()
  expect(code).toBe(0)
  take('run', stdout)
  expect(await digestLines(config)).toEqual([
    {
      strategy: 'buy-weth',
      line: expect.stringMatching(/^buy-weth: \d+ of \d+ slots? as expected/),
    },
  ])

  await all([
    'backtest --from 2026-01-01 --to 2026-01-01T02:00 --balance USDC=1000 --market 7',
    'backtest replay',
    `backtest fetch --from 2020-01-01 --prices ${dir}/prices`,
  ])
  await all(['validate', 'doctor', 'approvals list', 'gastank status', 'delegation status'])
  await says('approvals revoke --all --yes')
  await says('resume')
  await says('gastank deposit 0.05 --yes')
  await says('delegation set')
  await says('delegation clear')
  await says('state rebuild')
  await says(`state restore ${dir}/b.tar`)
  await says('state accept-loss --yes')
  await says('state new --yes')

  const settings = parse(readFileSync(config, 'utf8'))
  const webhooks = [{ url: 'http://127.0.0.1:9/unused' }]
  writeFileSync(config, stringify({ ...settings, notify: { webhooks } }))
  await says('notify test')
  await says('validate')
})

test('wallets and folders are created without a config, and the output matches the schemas', async () => {
  const rehearsal = await rehearse({})
  const { says } = talkingTo(rehearsal)
  const file = (name: string): string => join(rehearsal.dir, name)
  writeFileSync(file('pass'), 'secret words', { mode: 0o600 })
  writeFileSync(file('key'), `0x${'11'.repeat(32)}`, { mode: 0o600 })
  await Promise.all([
    says('wallet new --out new.json --password-file pass', []),
    says('wallet import --out old.json --private-key-file key --password-file pass', []),
    says('wallet address --private-key-file key', []),
    says('init folder --kinds dca --mode live', []),
  ])
})

test('a failed or mistyped command prints exactly one failure', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { type } = talkingTo(rehearsal)
  const failing = {
    'status --lmit 3': 2,
    status: 1,
    'quote missing': 2,
    'plan missing': 1,
    'trigger buy-weth': 1,
    'gastank deposit much': 2,
    'gastank deposit 0.01': 2,
    'settle none:1:0': 1,
    'notify test': 1,
    'approvals revoke': 2,
    'state new': 2,
    'state restore none': 1,
  }
  await Promise.all(
    Object.entries(failing).map(async ([line, code]) => {
      const ended = await type(line)
      expect([line, ended.code]).toEqual([line, code])
      expect(failureOf(ended.stdout)).toMatchObject({ ok: false })
    }),
  )
})

test('the tests above cover every command that takes --json', () => {
  expect([...seen].toSorted()).toEqual(Object.keys(OUTPUTS).toSorted())
})
