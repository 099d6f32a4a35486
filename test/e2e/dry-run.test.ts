import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readJournal } from '../../src/adapters/state/journal-file.ts'
import { run } from '../support/process/cli.ts'
import { collect } from '../support/state/state-directory.ts'
import { adminCall, balancesOf, everySecond, startRehearsal } from './rehearsal.ts'

test('dry-run books real quotes on paper: no order, no transaction, no signature', async () => {
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
  const types = new Set((await collect(view.records())).map(({ event }) => event.type))
  expect(types).toContain('paper-filled')
  for (const signed of ['permit-recorded', 'transaction-recorded', 'fill-proven'])
    expect(types).not.toContain(signed)
  const history = await run(['history', '--config', rehearsal.config])
  expect(history.stdout).toMatch(/buy-weth:\d+ {2}filled {3}25 USDC -> [\d.]+ WETH \(paper\)/)

  writeFileSync(rehearsal.config, text)
  const live = rehearsal.daemon()
  await live.sees(/the state directory belongs to a daemon in mode dry-run/)
}, 90_000)
