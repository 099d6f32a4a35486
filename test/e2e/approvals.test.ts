import { expect, test } from 'vitest'
import type { ApprovalsListData } from '../../src/cli/json/account-outputs.ts'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { eventsIn } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { all } from './audit.ts'
import { everySecond, ordersOf, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

async function listed({
  config,
}: Rehearsal): Promise<ReadonlyMap<string, ApprovalsListData['tokens'][0]>> {
  const { code, stdout } = await run(['approvals', 'list', '--json', '--config', config])
  expect(code).toBe(0)
  const report = outputOf<ApprovalsListData>('approvals list', stdout)
  return new Map(report.tokens.map((row) => [row.token, row]))
}

function revoke({ config }: Rehearsal, ...args: readonly string[]) {
  return run(['approvals', 'revoke', ...args, '--config', config])
}

/** Approvals in the journal's transactions, oldest first. */
async function approved({ stateDir }: Rehearsal): Promise<readonly bigint[]> {
  const recorded = all(await eventsIn(stateDir), 'transaction-recorded')
  return recorded.flatMap(({ transaction: { purpose, data } }) =>
    purpose === 'approve' ? [BigInt(`0x${data.slice(-64)}`)] : [],
  )
}

test('approvals are listed, revoked by a journaled transaction, and granted again by a later run', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth', { limits: { perDay: '5000' } }))
  expect((await revoke(rehearsal, 'USDC')).code).toBe(2)
  const first = rehearsal.daemon()
  await first.sees(/filled buy-weth/)
  const beside = await revoke(rehearsal, '--all', '--yes')
  expect([1, 75]).toContain(beside.code)
  expect((await first.stop()).code).toBe(0)

  const before = await listed(rehearsal)
  expect(before.get('USDC')).toMatchObject({
    allowance: { amount: expect.stringMatching(/^\d+$/), token: 'USDC' },
    isUnlimited: false,
    wants: { type: 'budget', amount: { amount: expect.stringMatching(/^\d+$/), token: 'USDC' } },
  })
  expect(before.get('DAI')).toMatchObject({
    allowance: { amount: '0', token: 'DAI' },
    wants: { type: 'nothing', amount: null },
  })
  const text = await run(['approvals', 'list', '--config', rehearsal.config])
  expect(text.stdout).toMatch(/^USDC +[\d,]+ USDC +[\d,]+ USDC today$/m)

  const unsure = await revoke(rehearsal, 'USDC', 'DAI')
  expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringMatching(/--yes/)])
  const unknown = await revoke(rehearsal, 'XYZ', '--yes')
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringMatching(/not a token of the conf/),
  ])
  expect((await listed(rehearsal)).get('USDC')).toEqual(before.get('USDC'))

  const halted = await run(['halt', '--config', rehearsal.config])
  expect(halted.code).toBe(0)
  const revoked = await revoke(rehearsal, 'USDC', 'DAI', '--yes', '--json')
  expect([revoked.code, outputOf('approvals revoke', revoked.stdout)]).toMatchObject([
    0,
    {
      ok: true,
      tokens: [
        { token: 'USDC', ok: true, changed: true },
        { token: 'DAI', ok: true, changed: false },
      ],
    },
  ])
  expect((await listed(rehearsal)).get('USDC')?.allowance?.amount).toBe('0')
  expect((await approved(rehearsal)).at(-1)).toBe(0n)
  const proof = await run(['state', 'verify', '--config', rehearsal.config])
  expect([proof.code, proof.stdout]).toEqual([0, expect.stringMatching(/every record carries its/)])

  expect((await run(['resume', '--config', rehearsal.config])).code).toBe(0)
  const second = rehearsal.daemon()
  await second.sees(/filled buy-weth/)
  expect((await second.stop()).code).toBe(0)
  expect((await approved(rehearsal)).at(-1)).toBeGreaterThan(0n)
  expect((await listed(rehearsal)).get('USDC')?.allowance?.amount).not.toBe('0')
})

test('approvals of an earlier state are revoked before the first run, and that run trades', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const before = (await listed(rehearsal)).get('USDC')?.allowance
  expect(before?.amount).toMatch(/^[1-9]/)
  const revoked = await revoke(rehearsal, '--all', '--yes')
  expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringMatching(/^USDC: revoked/m)])
  expect((await listed(rehearsal)).get('USDC')?.allowance?.amount).toBe('0')
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  expect((await approved(rehearsal))[0]).toBe(0n)
})

test('revoking is refused while an order is open, and names the open orders', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  await rehearsal.fault([{ kind: 'neverFill' }])
  const daemon = rehearsal.daemon()
  await waitFor('an order', async () => {
    const orders = await ordersOf(rehearsal.report)
    return orders.some(({ orderId }) => !rehearsal.before.orderIds.has(orderId))
  })
  await daemon.killHard()
  const refused = await revoke(rehearsal, '--all', '--yes')
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/nothing was revoked: \d+ orders? (is|are) open \(buy-weth:\d+:0/),
  ])
})
