import { type MessageTypes, SignTypedDataVersion, signTypedData } from '@metamask/eth-sig-util'
import type { Hex } from 'viem'
import { beforeAll, expect, test } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { WireQuoteResponse } from '../../../src/venues/swap/client/gasless-wire.ts'
import {
  approve,
  balanceOf,
  expectError,
  quoteFor,
  rest,
  sandboxForSuite,
  settled,
  signBlindly,
  traderOf,
} from '../../support/sandbox.ts'

const sandbox = sandboxForSuite()
const described = sandboxForSuite({ reading: 'described' })

beforeAll(() => approve(sandbox(), traderOf(sandbox()), 'USDC'))

type Sign = (running: Sandbox, quote: WireQuoteResponse) => Hex | Promise<Hex>

/** Signs the typed data unchanged, as wallet software does. */
const byMetaMask: Sign = ({ trader }, { permit2 }) =>
  signTypedData<SignTypedDataVersion.V4, MessageTypes>({
    privateKey: Buffer.from(trader.privateKey.slice(2), 'hex'),
    data: permit2.typedData as never,
    version: SignTypedDataVersion.V4,
  }) as Hex
const byViem: Sign = (running, quote) => signBlindly(traderOf(running), quote)

async function order(running: Sandbox, sign: Sign) {
  const quote = await quoteFor(running, traderOf(running))
  const signature = await sign(running, quote)
  return rest(running, 'POST', '/orders', { quoteId: quote.id, signature })
}

test.each([
  ['MetaMask', byMetaMask],
  ['viem', byViem],
])('a quote signed unchanged by %s fills', async (_, sign) => {
  const { address } = sandbox().trader
  const before = await balanceOf(sandbox(), 'WETH', address)
  const { status, body } = await order(sandbox(), sign)
  expect(status).toBe(201)
  expect((await settled(sandbox(), body.orderId)).status).toBe('filled')
  expect(await balanceOf(sandbox(), 'WETH', address)).toBeGreaterThan(before)
})

test('both wallets sign the same bytes', async () => {
  const quote = await quoteFor(sandbox(), traderOf(sandbox()))
  expect(await byMetaMask(sandbox(), quote)).toBe(await byViem(sandbox(), quote))
})

test('a quote without its domain type is signed by MetaMask without a domain', async () => {
  expectError(await order(described(), byMetaMask), 400, 'BAD_REQUEST', /signature/)
  expect((await order(described(), byViem)).status).toBe(201)
})
