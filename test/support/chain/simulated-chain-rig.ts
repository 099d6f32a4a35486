import type { PriceFeed } from '../../../src/domain/money/price.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import { createRandom } from '../../../src/domain/random.ts'
import type { ChainRig } from '../../contract/chain/chain.ts'
import { createSimulatedChain } from '../../simulation/chain/chain.ts'
import { BLOCK_SECONDS, POOL } from '../../simulation/chain/ledger.ts'
import { SimulatedProcess } from '../../simulation/process.ts'
import { createSimulatedKey } from '../../simulation/signer.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  PERMIT2,
  SIMULATED_CHAIN_ID,
  USDC,
  WALLET,
  WETH,
  WETH_USDC,
} from '../../simulation/stage.ts'
import { AT_ONCE } from '../finality.ts'
import { fingerprint } from '../random-hex.ts'
import { inVirtualTime } from '../simulated-time.ts'

const SEQUENCER_FEED: Address = '0x00000000000000000000000000000000000f0003'
const FEED: PriceFeed = {
  ...WETH_USDC,
  feed: '0x00000000000000000000000000000000000f0002',
  sequencerFeed: SEQUENCER_FEED,
}
const FEED_ANSWER = 2_500n * 10n ** 8n
const FEED_DECIMALS = 8
/** Calldata of `withdraw(1)`, which the WETH contract reverts for callers without a balance. */
const WITHDRAW_ONE = `0x2e1a7d4d${'1'.padStart(64, '0')}` as const

/** The chain of a simulation without a daemon, as a client in virtual time sees it. */
export async function makeSimulatedChainRig(): Promise<ChainRig> {
  const sim = new Simulation({ seed: 'chain contract', strategies: [] })
  const { clock, ledger, mempool, chainFaults } = sim
  const random = createRandom('chain contract client')
  const process = new SimulatedProcess(clock, random.fork('net'))
  const nextBlock = () => sim.runFor(BLOCK_SECONDS * 1_000)
  let payments = 0

  /** A plain transfer in a separate block. */
  const transfer = async (token: Token, path: { from: Address; to: Address; amount: bigint }) => {
    await nextBlock()
    payments += 1
    const asset = token.address
    const mined = ledger.mine({
      hash: fingerprint(`payment ${payments}`),
      input: '0xa9059cbb',
      call: () => (ledger.move({ asset, ...path }) ? [{ token: asset, ...path }] : undefined),
    })
    if (!mined.success) throw new Error(`no balance to pay ${path.amount} ${token.symbol}`)
    return mined.hash
  }

  ledger.setBalance(WETH.address, WALLET, 0n)
  ledger.setReading(FEED.feed, { answer: FEED_ANSWER, decimals: FEED_DECIMALS })
  ledger.setReading(SEQUENCER_FEED, { answer: 0n, decimals: 0 })
  return {
    chain: inVirtualTime(
      clock,
      createSimulatedChain({
        ledger,
        mempool,
        faults: chainFaults,
        rule: AT_ONCE,
        random: random.fork('client'),
        process,
        chainId: SIMULATED_CHAIN_ID,
      }),
    ),
    chainId: SIMULATED_CHAIN_ID,
    permit2: PERMIT2,
    key: createSimulatedKey({ address: WALLET, process, onSign: () => undefined }),
    token: USDC,
    otherToken: WETH,
    tokenBalance: sim.balance(USDC.address),
    feed: FEED,
    feedAnswer: FEED_ANSWER,
    feedDecimals: FEED_DECIMALS,
    stranger: '0x00000000000000000000000000000000000abcde',
    revertingCall: { to: WETH.address, data: WITHDRAW_ONE, value: 0n },
    async payOut(token, { to, amount }) {
      const hash = await transfer(token, { from: WALLET, to, amount })
      mempool.useNonce(WALLET)
      return hash
    },
    async payIn(token, amount) {
      await transfer(token, { from: POOL, to: WALLET, amount })
    },
    useNonce: async (nonce) => ledger.invalidateNonce(WALLET, nonce),
    mine: nextBlock,
    giveCode: async () => ledger.growCode(WALLET),
    close: async () => process.die(),
  }
}
