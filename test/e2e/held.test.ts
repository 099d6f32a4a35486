import { expect, test } from 'vitest'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { metricsOf, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

/** The pair is inverted: at 3,000 USDC per WETH it would sell at its first slot. */
const INVERTED = {
  inverted: {
    name: 'inverted',
    kind: 'threshold',
    schedule: { cron: '* * * * * *' },
    sell: 'WETH',
    buy: 'USDC',
    amount: '0.01',
    when: { price: 'USDC/WETH', below: '2500' },
    limits: { perDay: '100' },
  },
}

function typing({ config }: Rehearsal) {
  return async (line: string) => {
    const ended = await run([...line.split(' '), '--config', config, '--json'])
    return { ...ended, data: outputOf<Record<string, unknown>>(line, ended.stdout) }
  }
}

test('a live rule with an inverted pair is held and shown as held until it is approved, and then trades', async () => {
  const rehearsal = await rehearse(INVERTED)
  const type = typing(rehearsal)
  const why =
    /below 2500 fires at once and lies more than tenfold above the price: USDC\/WETH is 0\.0003/
  const message = { strategy: 'inverted', message: expect.stringMatching(why) }
  expect((await type('validate')).data).toMatchObject({ prices: [message] })
  expect((await type('plan')).data).toMatchObject({
    strategies: [{ warnings: [expect.stringMatching(why)] }],
  })

  const daemon = rehearsal.daemon()
  await daemon.sees(/held inverted: below 2500 fires at once/)
  await daemon.sees(/skipped inverted[^\n]*needs-approval/)
  expect((await metricsOf(daemon)).get('tranched_held{strategy="inverted"}')).toBe(1)
  expect((await type('status')).data).toMatchObject({
    strategies: [{ held: { detail: expect.stringMatching(why) } }],
  })
  const waiting = [{ kind: 'strategy', name: 'inverted', detail: expect.stringMatching(why) }]
  expect((await type('approve')).data).toMatchObject({ approved: [], waiting })
  const ps = outputOf<{ daemons: readonly { pid: number; held: readonly string[] }[] }>(
    'ps',
    (await run(['ps', '--json'])).stdout,
  )
  expect(ps.daemons.some(({ held }) => held.includes('inverted'))).toBe(true)
  const triggered = await run(['trigger', 'inverted', '--config', rehearsal.config])
  expect([triggered.code, triggered.stderr]).toEqual([
    1,
    expect.stringContaining('inverted waits for your approval'),
  ])
  const stranger = await run(['approve', 'invertde', '--config', rehearsal.config])
  expect([stranger.code, stranger.stderr]).toEqual([
    1,
    expect.stringContaining('did you mean inverted?'),
  ])

  expect((await type('approve inverted')).data).toMatchObject({
    ...{ approved: ['inverted'], waiting: [] },
  })
  await daemon.sees(/filled inverted: 0\.01 WETH/)
  expect((await metricsOf(daemon)).get('tranched_held{strategy="inverted"}')).toBe(0)
  expect(daemon.output().match(/held inverted:/g)).toHaveLength(1)
  expect((await daemon.stop()).code).toBe(0)
})

test('approve works without a daemon and holds at the next start', async () => {
  const rehearsal = await rehearse(INVERTED)
  const type = typing(rehearsal)
  const daemon = rehearsal.daemon()
  await daemon.sees(/held inverted/)
  expect((await daemon.stop()).code).toBe(0)
  expect((await type('approve')).data).toMatchObject({ waiting: [{ name: 'inverted' }] })
  const status = await run(['status', '--config', rehearsal.config])
  expect(status.stdout).toMatch(/^ *inverted .* HELD\b/m)
  expect(status.stdout.replace(/\s+/g, ' ')).toMatch(
    /inverted: HELD [^:]* ago: below 2500 fires at once .*`tranched approve inverted` lets it trade/,
  )
  const text = await run(['approve', 'inverted', '--config', rehearsal.config])
  expect([text.code, text.stdout]).toEqual([
    0,
    expect.stringMatching(/^approved inverted: below 2500 fires at once/),
  ])
  const none = await run(['approve', '--config', rehearsal.config])
  expect(none.stdout).toBe('nothing waits for approval\n')
  const again = rehearsal.daemon()
  await again.sees(/filled inverted: 0\.01 WETH/)
  expect(again.output()).not.toContain('held inverted')
  expect((await again.stop()).code).toBe(0)
})
