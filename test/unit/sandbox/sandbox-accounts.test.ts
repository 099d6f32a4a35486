import { encodeAbiParameters, encodeEventTopics, type Hex, parseAbi } from 'viem'
import { expect, test } from 'vitest'
import {
  type AccountsState,
  createAccounts,
} from '../../../src/sandbox/aggregator/account/accounts.ts'
import type { Rpc } from '../../../src/sandbox/evm/rpc.ts'

const GAS_TANK = '0x00000000000000000000000000000000000000aa'
const OWNER = '0x00000000000000000000000000000000000000bb'
const DEPOSITED = parseAbi([
  'event Deposited(address indexed account, address indexed from, uint256 amount)',
])
const PUBLISHED = parseAbi(['event AccountDeposited(address operator, uint256 newBalance)'])

/** A chain whose blocks each hold one deposit of 7 wei, and whose log reads wait until the test releases them. */
function chainOf(
  timestamp: number,
  logAt: (block: number) => unknown = logOf,
  former?: AccountsState,
) {
  const chain = { blocks: 0, release: (): void => undefined }
  const answers: Record<string, (params: readonly unknown[]) => unknown> = {
    eth_blockNumber: () => quantity(chain.blocks),
    eth_getBlockByNumber: () => ({ timestamp: quantity(timestamp) }),
    eth_getLogs: ([filter]) => {
      const { fromBlock, toBlock } = filter as { fromBlock: Hex; toBlock: Hex }
      const first = Math.max(1, Number(fromBlock))
      return Array.from({ length: Number(toBlock) - first + 1 }, (_, at) => logAt(first + at))
    },
  }
  const rpc = {
    async call(method: string, params: readonly unknown[] = []) {
      const answer = answers[method]?.(params)
      if (method === 'eth_getLogs')
        await new Promise<void>((resolve) => {
          chain.release = resolve
        })
      return answer
    },
  } as unknown as Rpc
  return { chain, accounts: createAccounts({ rpc, gasTank: GAS_TANK }, 0, former) }
}

function logOf(block: number) {
  const args = { account: OWNER, from: OWNER } as const
  const topics = encodeEventTopics({ abi: DEPOSITED, eventName: 'Deposited', args })
  const data = encodeAbiParameters([{ type: 'uint256' }], [7n])
  return { blockNumber: quantity(block), topics, data }
}

function quantity(value: number): Hex {
  return `0x${value.toString(16)}`
}

/** Releases every log read until the work is done. */
async function done(chain: { release: () => void }, work: Promise<void>): Promise<void> {
  const pump = setInterval(() => chain.release(), 1)
  await work.finally(() => clearInterval(pump))
}

test('a deposit made during an indexing run appears after the next run', async () => {
  const { chain, accounts } = chainOf(0)
  const before = accounts.index()
  // The first run has read the newest block, and finds no deposit.
  await new Promise((resolve) => setTimeout(resolve, 5))
  chain.blocks = 1
  await done(
    chain,
    Promise.all([before, accounts.index()]).then(() => undefined),
  )
  expect(accounts.info(OWNER)?.balance).toBe(7n)
})

test('a deposit in a block with a future time appears at once', async () => {
  const { chain, accounts } = chainOf(Math.ceil(Date.now() / 1_000) + 60)
  chain.blocks = 1
  await done(chain, accounts.index())
  expect(accounts.info(OWNER)?.balance).toBe(7n)
})

test('deposits of the published generation are the growth of its balance, also after a restart', async () => {
  const shown = encodeEventTopics({ abi: PUBLISHED, eventName: 'AccountDeposited' })
  const growing = (block: number) => ({
    blockNumber: quantity(block),
    topics: shown,
    data: encodeAbiParameters(
      [{ type: 'address' }, { type: 'uint256' }],
      [OWNER, [0n, 5n, 12n, 100n][block] ?? 0n],
    ),
  })
  const { chain, accounts } = chainOf(0, growing)
  chain.blocks = 2
  await done(chain, accounts.index())
  expect(accounts.info(OWNER)?.balance).toBe(12n)
  const later = chainOf(0, growing, accounts.state())
  later.chain.blocks = 3
  await done(later.chain, later.accounts.index())
  expect(later.accounts.info(OWNER)?.balance).toBe(100n)
})
