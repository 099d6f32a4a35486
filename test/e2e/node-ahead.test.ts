import { expect, test } from 'vitest'
import { startHidingNode } from '../support/process/hiding-node.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './audit.ts'
import { everySecond, ordersOf, redirect, startRehearsalInside } from './rehearsal.ts'

/** How far the node is ahead, and how long its orders are valid. */
const AHEAD_SECONDS = 90
const LIFETIME_SECONDS = 40

test('orders that fill after a node was 90 s ahead for a while are never taken for dead', async () => {
  const files = everySecond('buy-weth', { limits: { perDay: '100000', maxOpenIntents: 1 } })
  const rehearsal = await startRehearsalInside(files, {
    gasless: { quoteLifetime: LIFETIME_SECONDS },
  })
  const { report, config } = rehearsal
  const node = await startHidingNode(report.rpcUrl)
  redirect(config, { gaslessUrl: report.gaslessUrl, rpcUrl: node.url })
  // The service hides the order, so the daemon queries only the chain.
  await rehearsal.fault([
    { kind: 'notFoundYet', forMs: 3_600_000 },
    { kind: 'lateFill', delayMs: 20_000 },
  ])
  const daemon = rehearsal.daemon()
  const [, orderId] = await daemon.sees(/placed buy-weth: order ([\w-]+)/)
  node.aheadSeconds = AHEAD_SECONDS
  await daemon.sees(/is ahead of this machine/)
  const answeredBefore = node.answered
  await waitFor('more answers of a node that is ahead', () => node.answered > answeredBefore + 20)
  node.aheadSeconds = 0
  await daemon.sees(/filled buy-weth/)
  await rehearsal.fault([])
  const open = async () => (await ordersOf(report)).filter(({ status }) => status === 'pending')
  await waitFor('no open order', open, ({ length }) => length === 0)
  expect((await daemon.stop()).code).toBe(0)

  const audited = await audit(rehearsal)
  expect(audited.discrepancies).toEqual([])
  // The orders after it live as long: none of them has expired.
  expect(all(audited.events, 'authorization-dead')).toEqual([])
  const [first] = await ordersOf(report)
  expect(first).toMatchObject({ orderId, status: 'filled' })
})
