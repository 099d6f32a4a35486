import { expect, test } from 'vitest'
import type { Evidence } from '../../src/venues/manual/manual-evidence.ts'
import { outputOf } from '../support/output-of.ts'
import { type Ended, type Running, run } from '../support/process/cli.ts'
import { type HidingNode, startHidingNode } from '../support/process/hiding-node.ts'
import { waitFor } from '../support/wait-for.ts'
import { everySecond, ordersOf, type Rehearsal, redirect, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

const NOWHERE = `0x${'77'.repeat(32)}`

type Hanging = {
  readonly rehearsal: Rehearsal
  readonly daemon: Running
  readonly node: HidingNode
  /** The intent whose order was filled, and where. */
  readonly id: string
  readonly txHash: string
}

/**
 * A daemon with one filled order that the service hides and of which the node shows neither log nor receipt: its nonce
 * is used, at a final block too, and nothing explains it.
 */
async function hanging(): Promise<Hanging> {
  const rehearsal = await rehearse(
    everySecond('buy-weth', { limits: { perDay: '100000', maxOpenIntents: 1 } }),
  )
  const { report, config } = rehearsal
  const node = await startHidingNode(report.rpcUrl)
  redirect(config, { gaslessUrl: report.gaslessUrl, rpcUrl: node.url })
  await rehearsal.fault([
    { kind: 'notFoundYet', forMs: 3_600_000 },
    { kind: 'lateFill', delayMs: 3_000 },
  ])
  const daemon = rehearsal.daemon()
  const [, orderId] = await daemon.sees(/placed buy-weth: order ([\w-]+)/)
  node.isHiding = true
  const order = await waitFor('a fill', async () =>
    (await ordersOf(report)).find((each) => each.orderId === orderId && each.status === 'filled'),
  )
  const id = (order.clientOrderId ?? '').replace(/:\d+$/, '')
  await waitFor('a final nonce', async () => {
    const { stdout } = await settle(rehearsal, id, ['--json'])
    return outputOf<Evidence>('settle', stdout).chain.final?.nonceUsed
  })
  return { rehearsal, daemon, node, id, txHash: order.txHash ?? '' }
}

function settle({ config }: Rehearsal, id: string, more: readonly string[]): Promise<Ended> {
  return run(['settle', id, '--config', config, ...more])
}

async function outcomeOf({ config }: Rehearsal, id: string): Promise<string> {
  const { stdout } = await run(['history', '--config', config, '--limit', '1000', '--json'])
  const { slots } = JSON.parse(stdout) as {
    readonly slots: readonly {
      readonly strategy: string
      readonly slotSeconds: number
      readonly outcome: string
      readonly reason: string | null
    }[]
  }
  const slot = slots.find((each) => id.startsWith(`${each.strategy}:${each.slotSeconds}:`))
  return `${slot?.outcome} ${slot?.reason}`
}

test("a running daemon closes an order on an operator's instruction, which it verifies itself, and trades on", async () => {
  const { rehearsal, daemon, node, id } = await hanging()
  const shown = await settle(rehearsal, id, [])
  expect(shown.code).toBe(0)
  expect(shown.stdout).toMatch(new RegExp(`^${id}: sell 25 USDC for WETH$`, 'm'))
  expect(shown.stdout).toMatch(/signed +a permit for at most 25 USDC by 0x\w{40}, for 0x\w{40}/)
  expect(shown.stdout).toMatch(/transactions +none was found/)
  expect(shown.stdout).toMatch(/--as dead +not now \(nonce-used\)/)
  expect(shown.stdout).toMatch(/--as executed unknown +possible: books all 25 USDC/)

  const dead = await settle(rehearsal, id, ['--as', 'dead', '--yes', '--json'])
  expect([dead.code, outputOf('settle', dead.stdout)]).toMatchObject([1, { reason: 'nonce-used' }])
  const nowhere = await settle(rehearsal, id, ['--as', 'executed', NOWHERE, '--yes'])
  expect(nowhere.code).toBe(1)
  expect(nowhere.stderr).toContain(`no-such-transaction): the chain shows no mined transaction`)
  const unconfirmed = await settle(rehearsal, id, ['--as', 'executed', 'unknown'])
  expect(unconfirmed.code).toBe(2)
  expect(unconfirmed.stderr).toContain(
    'there is no terminal to ask on: repeat the command with --yes',
  )
  expect(daemon.output()).not.toContain('resolved buy-weth')

  // By its slot alone, as `history` names it.
  const slot = id.slice(0, id.lastIndexOf(':'))
  const settled = await settle(rehearsal, slot, ['--as', 'executed', 'unknown', '--yes', '--json'])
  expect(settled.code).toBe(0)
  expect(outputOf('settle', settled.stdout)).toMatchObject({ ok: true, by: 'word', as: 'executed' })
  await daemon.sees(
    /an operator resolved buy-weth: it executed in an unknown transaction; 25 USDC is recorded/,
  )
  await daemon.sees(/failed buy-weth: settled/)
  expect(await outcomeOf(rehearsal, id)).toBe('failed settled')
  node.isHiding = false
  await rehearsal.fault([])
  await daemon.sees(/filled buy-weth/)
  const again = await settle(rehearsal, id, ['--as', 'dead', '--yes'])
  expect(again.code).toBe(1)
  expect(again.stdout).toContain(`${id} is closed: failed (settled: an operator says: it executed`)
  expect((await daemon.stop()).code).toBe(0)
  const why = await run(['why', slot, '--config', rehearsal.config])
  expect(why.stdout).toMatch(/an operator says that it executed/)
  expect(why.stdout).toMatch(/At that moment: its nonce is used, for good/)
})

test('without a daemon the instruction is journaled, and the next start closes the slot by it', async () => {
  const { rehearsal, daemon, node, id, txHash } = await hanging()
  await daemon.killHard()
  node.isStrange = true
  const strange = await settle(rehearsal, id, ['--as', 'executed', 'unknown', '--yes'])
  expect(strange.code).toBe(78)
  expect(strange.stderr).toContain('the state directory belongs to another chain')
  node.isStrange = false
  const dead = await settle(rehearsal, id, ['--as', 'dead', '--yes'])
  expect(dead.code).toBe(1)
  expect(dead.stderr).toContain('not settled as dead (nonce-used)')
  const hidden = await settle(rehearsal, id, ['--as', 'executed', txHash, '--yes'])
  expect(hidden.stderr).toContain('no-such-transaction')
  const settled = await settle(rehearsal, id, ['--as', 'executed', 'unknown', '--yes'])
  expect(settled.code).toBe(0)
  expect(settled.stdout).toContain('its slot closes when the daemon runs again')
  const status = await run(['status', '--config', rehearsal.config])
  expect(status.stdout).toContain(`${id}: settled, closes when the daemon runs`)
  const twice = await settle(rehearsal, id, ['--as', 'executed', 'unknown', '--yes'])
  expect(twice.code).toBe(1)
  expect(twice.stderr).toContain(`${id} is settled`)

  node.isHiding = false
  await rehearsal.fault([])
  const next = rehearsal.daemon()
  await next.sees(/failed buy-weth: settled/)
  await next.sees(/filled buy-weth/)
  expect((await next.stop()).code).toBe(0)
  expect(await outcomeOf(rehearsal, id)).toBe('failed settled')
})

test('without a daemon a transaction that proves the order is recorded as its proof', async () => {
  const { rehearsal, daemon, node, id, txHash } = await hanging()
  await daemon.killHard()
  node.isHiding = false
  const settled = await settle(rehearsal, id, ['--as', 'executed', txHash, '--yes', '--json'])
  expect(settled.code).toBe(0)
  expect(outputOf('settle', settled.stdout)).toMatchObject({
    by: 'proof',
    evidence: { named: 'proof' },
  })
  await rehearsal.fault([])
  const next = rehearsal.daemon()
  await next.sees(/filled buy-weth/)
  expect((await next.stop()).code).toBe(0)
  expect(await outcomeOf(rehearsal, id)).toBe('filled null')
})

test('an unknown intent and an unknown instruction are refused with the valid choices', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const { stdout } = await run(['history', '--config', rehearsal.config, '--json'])
  const [{ slotSeconds }] = JSON.parse(stdout).slots
  const id = `buy-weth:${slotSeconds}:0`
  const closed = await settle(rehearsal, id, [])
  expect([closed.code, closed.stdout]).toEqual([0, `${id} is closed: filled\n`])
  const slip = await settle(rehearsal, `by-weth:${slotSeconds}:0`, [])
  expect(slip.code).toBe(1)
  expect(slip.stderr).toContain(`there is no intent by-weth:${slotSeconds}:0; did you mean ${id}?`)
  for (const resolution of [['lost'], ['executed'], ['executed', '0x12'], ['dead', NOWHERE]]) {
    const { code, stderr } = await settle(rehearsal, id, ['--as', ...resolution, '--yes'])
    expect([resolution, code]).toEqual([resolution, 2])
    expect(stderr).toContain('expected --as dead, --as executed TX')
  }
  const help = await run(['settle', '--help'])
  expect(help.stdout).toContain('tranched settle weekly-eth:1893488400:0 --as executed unknown')
})
