import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeFunctionData, erc20Abi, parseAbi } from 'viem'
import { createChain } from '../../../src/chain/chain.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import { feedBoardAbi } from '../../../src/sandbox/evm/abi.ts'
import { startAnvil } from '../../../src/sandbox/evm/anvil.ts'
import { deployGaslessContracts, fundToken } from '../../../src/sandbox/evm/deploy.ts'
import { createRpc, type Rpc } from '../../../src/sandbox/evm/rpc.ts'
import { sendOrThrow } from '../../../src/sandbox/evm/sender.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import type { ChainRig } from '../../contract/chain/chain.ts'
import { AT_ONCE } from '../finality.ts'

export type ViemChainRig = ChainRig & { readonly rpc: Rpc; readonly rpcUrl: string }

const CHAIN_ID = 8453
const TOKEN_BALANCE = 1_000_000n
const FEED_ANSWER = 2_500n * 10n ** 8n
const permit2Abi = parseAbi(['function invalidateUnorderedNonces(uint256 word, uint256 mask)'])

const lower = (address: string) => address.toLowerCase() as Address

/** The live adapter on a local EVM node with the real Permit2 and the sandbox's contracts. */
export async function makeViemChainRig(): Promise<ViemChainRig> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, log: () => undefined })
  const rpc = createRpc(anvil.rpcUrl)
  const deployment = await deployGaslessContracts(rpc, CHAIN_ID)
  const { deployer } = deployment
  const key = createKey(randomBytes(32))
  const owner = key.address
  const permit2 = lower(deployment.permit2)
  const chain = createChain({
    chainId: CHAIN_ID,
    rpcUrls: [anvil.rpcUrl],
    rule: AT_ONCE,
    permit2,
    observe: () => undefined,
    clock: Date,
  })
  const toToken = (symbol: string): Token => {
    const found = deployment.tokens.find((token) => token.symbol === symbol)
    if (found === undefined) throw new Error(`the sandbox has no ${symbol}`)
    const { decimals, address } = found
    return { symbol, chain: 'base', chainId: CHAIN_ID, address: lower(address), decimals }
  }
  const [usdc, weth] = [toToken('USDC'), toToken('WETH')]
  const feed = deployment.feeds.find(({ base, quote }) => base === 'WETH' && quote === 'USDC')
  if (feed === undefined) throw new Error('the sandbox has no feed of WETH in USDC')

  await rpc.call('anvil_setBalance', [owner, '0xde0b6b3a7640000'])
  await rpc.call('anvil_impersonateAccount', [owner])
  const payIn = async (token: Token, amount: bigint) => {
    const sandboxToken = deployment.tokens.find(({ address }) => lower(address) === token.address)
    if (sandboxToken === undefined) throw new Error(`the sandbox has no ${token.symbol}`)
    await fundToken(deployer, { token: sandboxToken, to: owner, amount })
  }
  // The owner also signs elsewhere, so the adapter must read its next nonce each time.
  const ownerSends = async (call: { to: Address; data: Hex }): Promise<Hex> => {
    const nonce = await rpc.call<Hex>('eth_getTransactionCount', [owner, 'latest'])
    const hash = await rpc.call<Hex>('eth_sendTransaction', [
      { from: owner, nonce, gas: '0x4c4b40', ...call },
    ])
    await receiptOf(rpc, hash)
    return hash
  }
  await payIn(usdc, TOKEN_BALANCE)
  await sendOrThrow(deployer, 'setting the feed', {
    to: deployment.feedBoard,
    data: encodeFunctionData({
      abi: feedBoardAbi,
      functionName: 'push',
      args: [[feed.address], [FEED_ANSWER]],
    }),
  })

  return {
    chain,
    rpc,
    rpcUrl: anvil.rpcUrl,
    chainId: CHAIN_ID,
    permit2,
    key,
    token: usdc,
    otherToken: weth,
    tokenBalance: TOKEN_BALANCE,
    feed: {
      pair: 'WETH/USDC',
      base: weth,
      quote: usdc,
      feed: lower(feed.address),
      maxAgeSeconds: 3_600,
      sequencerFeed: lower(deployment.sequencerFeed),
    },
    feedAnswer: FEED_ANSWER,
    feedDecimals: 8,
    stranger: '0x00000000000000000000000000000000000abcde',
    revertingCall: {
      to: usdc.address,
      data: transferCall(owner, TOKEN_BALANCE + 1n),
      value: 0n,
    },
    payOut: (token, { to, amount }) =>
      ownerSends({ to: token.address, data: transferCall(to, amount) }),
    payIn,
    async useNonce(nonce) {
      const args = [nonce >> 8n, 1n << (nonce & 255n)] as const
      const data = encodeFunctionData({
        abi: permit2Abi,
        functionName: 'invalidateUnorderedNonces',
        args,
      })
      await ownerSends({ to: permit2, data })
    },
    mine: () => sleep(5),
    async giveCode() {
      await rpc.call('anvil_setCode', [owner, '0x00'])
    },
    async close() {
      await chain.close()
      await rpc.close()
      await anvil.stop()
    },
  }
}

function transferCall(to: Address, amount: bigint): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] })
}

export async function receiptOf(rpc: Rpc, hash: Hex): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const receipt = await rpc.call<{ status: Hex } | null>('eth_getTransactionReceipt', [hash])
    if (receipt !== null) return
    await sleep(5)
  }
  throw new Error(`no receipt of ${hash}`)
}
