import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { run } from '../support/process/cli.ts'
import { all } from './audit.ts'
import { runUntil, STRATEGY, writeClaims } from './claims.ts'
import { callsCounted, journaled, setUpAccount } from './operator.ts'
import { everySecond, metricsOf, startRehearsal, writeStrategies } from './rehearsal.ts'

/** Leaves the config with one wallet, one chain and one service. */
function keepCalls(config: string): void {
  const {
    gasless: _,
    tokens: _tokens,
    prices: _prices,
    ...rest
  } = parse(readFileSync(config, 'utf8'))
  const { wallet, chain } = rest.aggregator
  rest.wallets = { [wallet]: rest.wallets[wallet] }
  rest.chains = { [chain]: rest.chains[chain] }
  writeFileSync(config, stringify({ ...rest, limits: {} }))
}

test('a daemon that only makes calls needs no swap service, no tokens and no feeds', async () => {
  const rehearsal = await startRehearsal({})
  keepCalls(rehearsal.config)
  const operator = await setUpAccount(rehearsal)
  writeClaims(operator)
  const daemon = await runUntil(
    operator,
    (events) => all(events, 'call-proven').length >= 2 && all(events, 'fills-final').length > 0,
  )
  expect(daemon.output()).not.toMatch(/gasless|ERROR|WARN .*wallet/)
  expect(daemon.output()).toContain('aggregation service http://127.0.0.1')
  const events = await journaled(operator)
  expect(await callsCounted(operator)).toBe(BigInt(all(events, 'call-proven').length))
  expect(all(events, 'bound')).toMatchObject([{ owner: operator.account }])
  // One wallet is compared once, and its transactions become final once.
  expect(all(events, 'wallet-compared')).toHaveLength(1)
  expect(all(events, 'transactions-final').flatMap(({ ids }) => ids)).toHaveLength(
    all(events, 'transaction-ended').length,
  )

  for (const line of ['status', 'plan', 'report', 'history', `why ${STRATEGY}`, 'doctor'])
    expect(await operator.command(line)).not.toMatch(/gasless|undefined|NaN/)
  const again = rehearsal.daemon()
  await again.sees(/claim-often.*executed|filled claim-often/)
  const samples = await metricsOf(again)
  const ofSwaps = [...samples].filter(([name]) => /service="gasless"/.test(name))
  expect(ofSwaps.filter(([, value]) => value !== 0)).toEqual([])
  await again.stop()

  for (const line of ['sell 1 USDC --for WETH', 'quote --sell USDC --buy WETH --amount 1']) {
    const refused = await run([...line.split(' '), '--config', rehearsal.config])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('nothing swaps under this config: it has no `gasless` section')
  }
  writeStrategies(join(rehearsal.dir, 'strategies'), everySecond('buy-weth'))
  const refused = await run(['validate', '--config', rehearsal.config])
  expect(refused.code).toBe(78)
  expect(refused.stderr).toContain('this swaps, and the config has no `gasless` section')
})
