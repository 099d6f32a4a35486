import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { ROOT, run } from '../support/process/cli.ts'
import { eventsOf } from '../support/state/state-directory.ts'
import { adminCall, balancesOf, everySecond, startRehearsal } from './rehearsal.ts'

test('dry-run records real quotes as simulated fills: no order, no transaction, no signature', async () => {
  const rehearsal = await startRehearsal({
    ...everySecond('buy-weth', { limits: { perDay: '60' } }),
    ...everySecond('from-eth', { sell: 'ETH', buy: 'USDC', amount: '0.01' }),
  })
  const text = readFileSync(rehearsal.config, 'utf8')
  writeFileSync(rehearsal.config, text.replace('mode: live', 'mode: dry-run'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/paper filled buy-weth/)
  await daemon.sees(/paper filled from-eth/)
  await daemon.sees(/skipped buy-weth .*limit-per-day/)
  expect((await daemon.stop()).code).toBe(0)

  expect(await adminCall(rehearsal.report, 'GET', '/orders')).toEqual([])
  expect(await balancesOf(rehearsal.report, rehearsal.config)).toEqual(rehearsal.before.balances)
  const view = await readJournal(rehearsal.stateDir)
  const types = new Set((await eventsOf(view)).map(({ type }) => type))
  expect(types).toContain('paper-filled')
  for (const signed of ['permit-recorded', 'transaction-recorded', 'fill-proven'])
    expect(types).not.toContain(signed)
  const history = await run(['history', '--config', rehearsal.config])
  expect(history.stdout).toMatch(/buy-weth:\d+ {2}filled {3}25 USDC -> [\d.]+ WETH \(paper\)/)

  writeFileSync(rehearsal.config, text)
  const live = rehearsal.daemon()
  await live.sees(/the state directory belongs to a daemon in mode dry-run/)
})

/** Every command that needs a config, with its exit code without a daemon and after one. */
const COMMANDS: readonly (readonly [line: string, code: number, says: RegExp])[] = [
  ['validate', 0, /./],
  ['plan', 0, /buy-weth/],
  ['quote buy-weth', 0, /would be signed/],
  ['status', 0, /dry-run/],
  ['history', 0, /paper/],
  ['gastank status', 0, /a dry-run signs nothing/],
  ['gastank deposit 0.01', 1, /a dry-run signs nothing/],
  ['gastank deposit 0.01 --yes', 1, /a dry-run signs nothing/],
  ['delegation status', 0, /none; the config says trustless/],
  ['delegation set', 1, /a dry-run signs nothing/],
  ['delegation set --direct', 1, /a dry-run signs nothing/],
  ['delegation clear', 1, /a dry-run signs nothing/],
  ['settle buy-weth:1:0', 1, /there is no intent/],
  ['settle buy-weth:1:0 --as dead --yes', 1, /there is no intent/],
  ['pause buy-weth', 0, /paused/],
  ['resume buy-weth', 0, /resumed/],
  ['trigger buy-weth', 1, /no daemon runs/],
  ['reload', 1, /no daemon runs/],
  ['halt', 0, /halted/],
  ['resume', 0, /resumed/],
  ['notify test', 1, /names no receiver/],
  ['state verify', 0, /sound/],
  ['state rebuild', 0, /rebuilt/],
  ['state backup BACKUP', 0, /./],
  ['state restore BACKUP --replace', 0, /restored/],
  ['state accept-loss --yes', 0, /nothing is lost/],
  ['state new --yes', 0, /begun afresh/],
]

test('a dry-run can start with a paper balance, whatever the wallet holds, and its report marks it as paper', async () => {
  const rehearsal = await startRehearsal(everySecond('buy-weth'))
  const text = readFileSync(rehearsal.config, 'utf8')
  const paper = 'mode: dry-run\npaper: { USDC: "60" }'
  writeFileSync(rehearsal.config, text.replace('mode: live', paper))
  const daemon = rehearsal.daemon()
  await daemon.sees(/skipped buy-weth .*insufficient-balance/)
  expect((await daemon.stop()).code).toBe(0)
  const { stdout } = await run(['report', '--config', rehearsal.config, '--json'])
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ paper: true, total: { fills: 2 } })
  expect(report.total.trades[0].sold).toEqual({ amount: '50', token: 'USDC' })
  const held = report.portfolio.holdings.map(({ amount }: { amount: object }) => amount)
  expect(held).toContainEqual({ amount: '10', token: 'USDC' })
  const taxes = await run(['export', '--format', 'koinly', '--config', rehearsal.config])
  expect(taxes.stdout.trim().split('\n')).toHaveLength(1)
  expect(taxes.stderr).toContain('2 fills are on paper (dry-run) and left out')

  writeFileSync(rehearsal.config, text.replace('mode: live', 'mode: live\npaper: { USDC: "60" }'))
  const live = await run(['validate', '--config', rehearsal.config])
  expect([live.code, live.stderr]).toEqual([
    78,
    expect.stringContaining('paper: only a dry-run trades on paper'),
  ])
})

test('each command works in a dry-run or says that nothing is signed', async () => {
  const call = readFileSync(join(ROOT, 'strategies/sandbox/call.yaml'), 'utf8')
  const rehearsal = await startRehearsal({
    ...everySecond('buy-weth'),
    ...everySecond('by-hand', { schedule: { cron: '0 0 1 1 *' } }),
    call,
  })
  const text = readFileSync(rehearsal.config, 'utf8')
  writeFileSync(rehearsal.config, text.replace('mode: live', 'mode: dry-run'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/paper filled buy-weth/)
  await daemon.sees(/call.*not-delegated/)
  const triggered = await run(['trigger', 'by-hand', '--config', rehearsal.config])
  expect([triggered.code, triggered.stderr]).toEqual([0, ''])
  expect((await daemon.stop()).code).toBe(0)
  for (const [line, code, says] of COMMANDS) {
    const args = line.replace('BACKUP', join(rehearsal.dir, 'backup.tar')).split(' ')
    const ended = await run([...args, '--config', rehearsal.config])
    const output = `${ended.stdout}${ended.stderr}`
    expect([line, ended.code, output]).toEqual([line, code, expect.stringMatching(says)])
    expect(output, line).not.toMatch(/InvariantError|\n {4}at /)
  }
})
