import { describe, expect, onTestFinished, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { openJournal } from '../../../src/store/file/journal-file.ts'
import { revokeAllowance } from '../../../src/venues/swap/prepare.ts'
import { PERMIT2, USDC } from '../../simulation/stage.ts'
import { collect, temporaryDirectory } from '../../support/state/state-directory.ts'
import { fakeAggregator, SEPOLIA } from './call/aggregator-fixture.ts'

const HALTED = { type: 'halted', cause: 'operator', detail: 'requested' } as const

/** A wallet with a journal, the real signing policy, and files without strategies; every transaction is mined. */
async function rig() {
  const fake = fakeAggregator({ key: createKey(new Uint8Array(32).fill(7)) })
  const { clock, stopping, tools, files, halt } = fake
  const { journal, close } = await openJournal({
    dir: temporaryDirectory(),
    clock,
    onFatal: (error) => {
      throw error
    },
  })
  onTestFinished(close)
  tools.signBy(journal)
  Object.assign(files, { chainId: SEPOLIA })
  const ports = { clock, random: { jitter: () => 0.5 }, journal }
  const context = {
    ports: { ...ports, guard: { blocked: () => halt.blocked }, observe: () => undefined },
    policy: DEFAULT_POLICY,
    closing: stopping.signal,
    stop: stopping.signal,
  }
  const { wallet } = tools.aggregator
  const revoke = (permit2: Address = PERMIT2) =>
    revokeAllowance(context, wallet, { token: USDC.address, permit2 })
  const recorded = async () => (await collect(journal.records())).map(({ event }) => event)
  return { ...fake, journal, revoke, recorded }
}

describe('revoking an allowance', () => {
  test('records a zero approval before it is signed and until it is mined', async () => {
    const { revoke, recorded, broadcast } = await rig()
    expect(await revoke()).toEqual({ tag: 'mined' })
    const events = await recorded()
    expect(events.map(({ type }) => type)).toEqual([
      'transaction-recorded',
      'transaction-signed',
      'transaction-ended',
    ])
    const [first] = events
    const { transaction } = first?.type === 'transaction-recorded' ? first : {}
    expect(transaction).toMatchObject({ purpose: 'approve', to: USDC.address, value: 0n })
    const spender = PERMIT2.slice(2).padStart(64, '0')
    expect(transaction?.data).toBe(`0x095ea7b3${spender}${'0'.repeat(64)}`)
    expect(broadcast).toHaveLength(1)
  })

  test('works under a halt in the journal and by the file', async () => {
    const { revoke, journal, halt } = await rig()
    await journal.append(HALTED)
    halt.blocked = 'the file HALT is there'
    expect(await revoke()).toEqual({ tag: 'mined' })
  })

  test('is refused for another spender than Permit2', async () => {
    const { revoke, broadcast } = await rig()
    expect(await revoke(`0x${'0e'.repeat(20)}`)).toMatchObject({
      tag: 'blocked',
      closing: { reason: 'permit2-mismatch' },
    })
    expect(broadcast).toEqual([])
  })
})
