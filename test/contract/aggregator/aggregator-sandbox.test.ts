import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Signer } from '../../../src/ports.ts'
import { createRpc } from '../../../src/sandbox/evm/rpc.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { createAggregatorRpc } from '../../../src/venues/call/client/aggregator-client.ts'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import { ETHER, QUIET, SEPOLIA, trustlessTransaction } from '../../support/aggregator/aggregator.ts'
import { admin, sandboxForSuite } from '../../support/sandbox.ts'
import { filesOfAggregator, signerWith } from '../../support/signing.ts'
import { type AggregatorCall, aggregatorContract } from './aggregator.ts'

const wire = { methodPrefix: 'house_', signatureHeader: 'X-House-Signature' }
const files = filesOfAggregator({ ...AGGREGATOR, wire: { ...AGGREGATOR.wire, ...wire } })
const sandbox = sandboxForSuite({ aggregator: { ...QUIET, wire } })

const ROUTES: Readonly<Record<AggregatorCall, string>> = {
  sendRawTransaction: 'sendRawTransaction',
  sendBundle: 'sendBundle',
  receipt: 'transactionReceipt',
  batchedReceipt: 'batchedReceipt',
  accountInfo: 'accountInfo',
  transactionStatus: 'transactionStatus',
}

function connect(signer: Pick<Signer, 'address' | 'login'>) {
  return createAggregatorRpc({
    url: sandbox().aggregatorUrl,
    ...wire,
    signer,
    clock: Date,
    observe: () => undefined,
    onRateLimit: () => undefined,
    onRetryAfter: () => undefined,
  })
}

// Proves both that the suite can pass and that the live adapter passes it over real HTTP and a real chain.
aggregatorContract('the live adapter over the sandbox', async () => {
  const key = randomBytes(32)
  const owner = privateKeyToAccount(toHex(key))
  const signer = signerWith(createKey(key), { files })
  const rpc = createRpc(sandbox().sepolia.rpcUrl)
  await rpc.call('anvil_setBalance', [owner.address, toHex(ETHER)])
  const { trustlessProposer } = sandbox().sepolia.contracts
  const authorization = await owner.signAuthorization({
    chainId: SEPOLIA,
    contractAddress: trustlessProposer,
    nonce: 1,
  })
  const delegation = await owner.signTransaction({
    type: 'eip7702',
    chainId: SEPOLIA,
    to: owner.address,
    nonce: 0,
    gas: 200_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
    authorizationList: [authorization],
  })
  await rpc.call('eth_sendRawTransactionSync', [delegation])
  const aggregator = connect(signer)
  const stranger = signerWith(createKey(randomBytes(32)), { files })
  const impostor = connect({
    address: signer.address,
    login(id) {
      const [own, foreign] = [signer.login(id), stranger.login(id)]
      if (!own.ok || !foreign.ok) throw new Error('no login was signed')
      const header = foreign.value.header.replace(stranger.address, signer.address)
      return { ok: true, value: { ...own.value, header } }
    },
  })
  let nonce = -1n
  return {
    aggregator,
    impostor,
    account: signer.address,
    deposit: async (wei) => {
      const body = { address: signer.address, amount: wei.toString() }
      await admin(sandbox(), 'POST', '/aggregator/deposit', body)
    },
    transaction: () => {
      nonce += 1n
      return trustlessTransaction(sandbox(), owner, { nonce })
    },
    elapse: async () => {
      await sleep(20)
    },
    failNext: (call, kind) =>
      sandbox().faults.set({ rules: [{ kind, route: ROUTES[call], count: 1 }] }),
    dispose: async () => {
      sandbox().faults.set({})
      await Promise.all([aggregator.close(), impostor.close(), rpc.close()])
    },
  }
})
