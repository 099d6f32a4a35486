// The peers: scripts that a competent person writes in an afternoon. Built-in fetch, viem with its defaults, no
// journal, no retries, no checks but the receipt's status. One reads the allowance once, the other before each order.
import { createPublicClient, createWalletClient, erc20Abi, http, maxUint256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { pollDelayMs, runWorkload, SELL_AMOUNT, SLIPPAGE_BPS } from './workload.mjs'

const { service, concurrency, warmup, orders, readsAllowance } = JSON.parse(process.argv[2])
const account = privateKeyToAccount(service.privateKey)
const client = createPublicClient({ transport: http(service.rpcUrl) })
const api = `${service.gaslessUrl}/api/v1`

async function call(path, body) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  const response = await fetch(`${api}${path}`, body === undefined ? undefined : init)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

function allowanceFor(spender) {
  return client.readContract({
    address: service.sellToken,
    abi: erc20Abi,
    functionName: 'allowance',
    args: [account.address, spender],
  })
}

async function approve(spender) {
  const wallet = createWalletClient({ account, transport: http(service.rpcUrl) })
  const request = { address: service.sellToken, abi: erc20Abi, functionName: 'approve' }
  const hash = await wallet.writeContract({ ...request, args: [spender, maxUint256], chain: null })
  await client.waitForTransactionReceipt({ hash, pollingInterval: 50 })
}

async function order() {
  const { id, quote, permit2 } = await call('/quote', {
    chainId: 8453,
    from: account.address,
    sellToken: service.sellToken,
    buyToken: service.buyToken,
    kind: 'sell',
    sellAmountBeforeFee: SELL_AMOUNT.toString(),
    slippageBps: SLIPPAGE_BPS,
    signingScheme: 'eip712',
  })
  const allowance = readsAllowance === 'once' ? known : await allowanceFor(permit2.allowanceTarget)
  if (allowance < BigInt(quote.sellAmount)) throw new Error('the allowance is too small')
  const signature = await account.signTypedData(permit2.typedData)
  const { orderId } = await call('/orders', { quoteId: id, signature })
  let state = { status: 'pending' }
  while (state.status === 'pending') {
    await new Promise((resolve) => setTimeout(resolve, pollDelayMs()))
    state = await call(`/orders/${orderId}`)
  }
  if (state.status !== 'filled') throw new Error(`order ${orderId}: ${state.status}`)
  const receipt = await client.getTransactionReceipt({ hash: state.txHash })
  if (receipt.status !== 'success') throw new Error(`transaction ${state.txHash} reverted`)
}

if ((await allowanceFor(service.permit2)) < SELL_AMOUNT * BigInt(warmup + orders))
  await approve(service.permit2)
const known = await allowanceFor(service.permit2)
const result = await runWorkload({ concurrency, warmup, orders, one: order })
process.stdout.write(`${JSON.stringify(result)}\n`)
