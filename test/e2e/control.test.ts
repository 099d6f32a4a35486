import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { outputOf } from '../support/output-of.ts'
import { type Running, run } from '../support/process/cli.ts'
import { everySecond, metricsOf, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

/** Runs one command against the rehearsal's files. */
async function command(rehearsal: Rehearsal, args: readonly string[]) {
  return run([...args, '--config', rehearsal.config, '--json'])
}

async function pausedMetric(daemon: Running, name: string): Promise<number | undefined> {
  return (await metricsOf(daemon)).get(name)
}

test('pause holds across a restart until resume', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const { mode } = statSync(join(rehearsal.stateDir, 'control.sock'))
  expect(mode & 0o777).toBe(0o600)
  const paused = await command(rehearsal, ['pause', 'buy-weth'])
  expect(paused.code).toBe(0)
  expect(outputOf('pause', paused.stdout)).toMatchObject({ ok: true, changed: ['buy-weth'] })
  await daemon.sees(/skipped buy-weth .*paused/)
  expect(await pausedMetric(daemon, 'tranched_paused{strategy="buy-weth"}')).toBe(1)
  expect((await daemon.stop()).code).toBe(0)

  const again = rehearsal.daemon()
  await again.sees(/skipped buy-weth .*paused by the operator/)
  expect((await command(rehearsal, ['resume', 'buy-weth'])).code).toBe(0)
  await again.sees(/filled buy-weth/)
  expect((await again.stop()).code).toBe(0)
})

test('halt stops everything until resume, also after the daemon was killed and without a daemon', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  const halted = await command(rehearsal, ['halt'])
  expect(outputOf('halt', halted.stdout)).toMatchObject({ ok: true, changed: ['everything'] })
  await daemon.killHard()
  // A broken strategy file must not disable the kill switch.
  const file = join(rehearsal.dir, 'strategies/buy-weth.yaml')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, 'kind: [')
  expect((await command(rehearsal, ['resume'])).code).toBe(0)
  expect((await command(rehearsal, ['halt'])).code).toBe(0)
  writeFileSync(file, text)
  const again = rehearsal.daemon()
  await again.sees(/halted since/)
  await again.sees(/skipped buy-weth .*halted/)
  expect(await pausedMetric(again, 'tranched_halted')).toBe(1)
  expect((await command(rehearsal, ['resume'])).code).toBe(0)
  await again.sees(/filled buy-weth/)
  expect((await again.stop()).code).toBe(0)
})

test('a changed file takes effect; a broken one is refused with its position while the old one keeps trading', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth: 25 USDC/)
  const file = join(rehearsal.dir, 'strategies/buy-weth.yaml')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('"25"', '"26"'))
  await daemon.sees(/reloaded buy-weth: amount 25 -> 26; its unsigned orders are dropped/)
  await daemon.sees(/filled buy-weth: 26 USDC/)
  writeFileSync(file, text.replace('sell: USDC', 'sell: USDX'))
  await daemon.sees(/not reloaded, the old ones keep running[\s\S]*buy-weth\.yaml:\d+:\d+ sell/)
  const refused = await command(rehearsal, ['reload'])
  expect(refused.code).toBe(1)
  expect(await pausedMetric(daemon, 'tranched_strategies_stale')).toBe(1)
  const status = JSON.parse((await command(rehearsal, ['status'])).stdout)
  expect(status).toMatchObject({
    answers: true,
    ready: { ok: true, reasons: [] },
    staleFiles: { files: 1 },
  })
  writeFileSync(file, text.replace('"25"', '"26"'))
  const config = readFileSync(rehearsal.config, 'utf8')
  writeFileSync(rehearsal.config, config.replace(/slippageBps: 50/, 'slippageBps: 60'))
  const frozen = await command(rehearsal, ['reload'])
  expect(frozen.stdout).toMatch(/need a restart: gasless\.slippageBps/)
  expect(frozen.code).toBe(1)
  writeFileSync(rehearsal.config, config.replace(/maxDeviationBps: 200/, 'maxDeviationBps: 190'))
  // The earlier write of the strategy file may already have triggered the reload.
  expect((await command(rehearsal, ['reload'])).code).toBe(0)
  await daemon.sees(/reloaded limits\.maxDeviationBps 200 -> 190/)
  expect(await pausedMetric(daemon, 'tranched_strategies_stale')).toBe(0)
  const seen = daemon.output().split('filled buy-weth: 26 USDC').length
  await daemon.sees(new RegExp(`(filled buy-weth: 26 USDC[\\s\\S]*){${seen}}`))
  expect((await daemon.stop()).code).toBe(0)
})

test('trigger opens a slot outside the schedule, within the limits', async () => {
  const rehearsal = await rehearse(
    everySecond('rare', { schedule: { cron: '0 0 1 1 *' }, limits: { perDay: '30' } }),
  )
  const daemon = rehearsal.daemon()
  await daemon.sees(/metrics at/)
  const first = await command(rehearsal, ['trigger', 'rare'])
  expect(outputOf('trigger', first.stdout)).toMatchObject({ ok: true })
  await daemon.sees(/filled rare: 25 USDC/)
  const second = await command(rehearsal, ['trigger', 'rare'])
  expect(outputOf('trigger', second.stdout)).toMatchObject({
    ...{ ok: true, intents: [] },
    skipped: { reason: 'limit-per-day', detail: expect.stringContaining('25 of 30 USDC is used') },
  })
  const third = await run(['trigger', 'rare', '--config', rehearsal.config])
  expect(third.stdout).toMatch(
    /^opened slot rare:\d+: no order, because .* \(25 of 30 USDC is used/,
  )
  await daemon.sees(
    /skipped rare .*limit-per-day.*25 of 30 USDC is used, 25 more requested; there is room again at/,
  )
  expect((await command(rehearsal, ['trigger', 'missing'])).code).toBe(1)
  expect((await daemon.stop()).code).toBe(0)
  expect((await command(rehearsal, ['trigger', 'rare'])).code).toBe(1)
})
