import type { RefusalKind } from '../../../src/chain/node/refusals.ts'

export type Wording = {
  readonly provider: string
  readonly kind: RefusalKind
  readonly code: number
  readonly message: string
  readonly data?: unknown
  /** Default 200. */
  readonly status?: number
  /** Blocks that it suggests. */
  readonly blocks?: number
}

/**
 * Refusals of nodes and their gateways, from public reports and their documentation: to eth_getLogs for blocks, logs or
 * the method, to a batch for its size. `[0x64, 0x6d]` stands for any range of ten blocks.
 */
export const WORDINGS: readonly Wording[] = [
  // Blocks.
  {
    ...{ provider: 'Alchemy', kind: 'range', code: -32600, status: 400, blocks: 10 },
    message:
      'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x64, 0x6d]. Upgrade to PAYG for expanded block range.',
  },
  {
    ...{ provider: 'Alchemy', kind: 'range', code: -32000, blocks: 2000 },
    message: 'block range too large (2500), maximum allowed is 2000 blocks',
  },
  {
    ...{ provider: 'Infura', kind: 'range', code: -32602, blocks: 10_000 },
    message: 'range 1000000 exceeds limit of 10000',
  },
  {
    ...{ provider: 'QuickNode', kind: 'range', code: -32614, status: 413, blocks: 10_000 },
    message: 'eth_getLogs is limited to a 10,000 range',
  },
  {
    ...{ provider: 'QuickNode', kind: 'range', code: -32602, blocks: 5 },
    message: 'eth_getLogs is limited to a 5 block range',
  },
  { provider: 'Ankr', kind: 'range', code: -32600, message: 'block range is too wide' },
  {
    ...{ provider: 'Ankr', kind: 'range', code: -32000 },
    message: 'maximum [from, to] blocks distance: 1000',
  },
  {
    ...{ provider: 'dRPC', kind: 'range', code: 35, status: 400, blocks: 10_000 },
    message: 'ranges over 10000 blocks are not supported on freetier',
  },
  {
    ...{ provider: 'dRPC', kind: 'range', code: -32000, blocks: 2048 },
    message: 'requested too many blocks from 0 to 16777216, maximum is set to 2048',
  },
  {
    ...{ provider: 'Chainstack', kind: 'range', code: -32602 },
    message:
      'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
  },
  {
    ...{ provider: 'Blast', kind: 'range', code: -32000 },
    message: 'The requested range exceeds the range allowed for your plan (501 > 500).',
  },
  {
    ...{ provider: 'PublicNode', kind: 'range', code: -32701, blocks: 50_000 },
    message: 'exceed maximum block range: 50000',
  },
  {
    ...{ provider: 'Cloudflare', kind: 'range', code: -32047, blocks: 800 },
    message: "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
  },
  {
    ...{ provider: 'BlockPI', kind: 'range', code: -32602, blocks: 1024 },
    message: 'eth_getLogs is limited to 1024 block range. Please check the parameter requirements.',
  },
  {
    ...{ provider: 'a gateway', kind: 'range', code: -32602 },
    message: 'eth_getLogs is limited to 0 - 50 blocks range',
  },
  {
    ...{
      provider: 'Tenderly',
      kind: 'range',
      code: -32602,
      message: 'invalid params',
      blocks: 2000,
    },
    data: {
      error_id: '4ed94073-0317-4648-a167-107fba5f44b3',
      payload: 'range 9009594 is bigger than range limit 2000',
    },
  },
  {
    ...{ provider: 'a gateway', kind: 'range', code: 429, blocks: 3 },
    message: 'exceed maximum block range: 3',
  },
  {
    ...{ provider: 'bsc-dataseed', kind: 'range', code: -32000, blocks: 5000 },
    message: 'exceed maximum block range: 5000',
  },
  {
    ...{ provider: 'mainnet.base.org', kind: 'range', code: -32000 },
    message: 'block range too large',
  },
  {
    ...{ provider: 'mainnet.base.org', kind: 'range', code: -32614, blocks: 10_000 },
    message: 'eth_getLogs is limited to a 10,000 range',
  },
  {
    ...{ provider: 'Coinbase', kind: 'range', code: -32602, blocks: 1000 },
    message: 'please limit the query to at most 1,000 blocks',
  },
  {
    ...{ provider: 'thirdweb', kind: 'range', code: -32602 },
    message: 'Maximum allowed number of requested blocks is 1000',
  },
  {
    ...{ provider: 'geth', kind: 'range', code: -32000, blocks: 500 },
    message: 'block range greater than 500 max',
  },
  {
    ...{ provider: 'erigon', kind: 'range', code: -32005, blocks: 10_000 },
    message: 'block range too large, max range: 10000',
  },
  {
    ...{ provider: 'reth', kind: 'range', code: -32602, blocks: 100_000 },
    message: 'query exceeds max block range 100000',
  },
  {
    ...{ provider: 'besu', kind: 'range', code: -32005 },
    message: 'Requested range exceeds maximum range limit',
  },
  {
    ...{ provider: 'OpenEthereum', kind: 'range', code: -32005 },
    message: 'Limit exceeded: Query requested more than 10.000 blocks',
  },
  // Logs.
  {
    ...{ provider: 'Alchemy', kind: 'results', code: -32602 },
    message:
      'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response.',
  },
  {
    ...{ provider: 'Alchemy', kind: 'results', code: -32600, status: 400 },
    message: 'Response size is larger than 150MB limit',
  },
  {
    ...{ provider: 'Infura', kind: 'results', code: -32005, blocks: 10 },
    message: 'query returned more than 10000 results. Try with this block range [0x64, 0x6d].',
  },
  { provider: 'Infura', kind: 'results', code: -32005, message: 'query timeout exceeded' },
  {
    ...{ provider: 'dRPC', kind: 'results', code: 30, status: 408 },
    message: 'Request timeout on the free tier, please upgrade your tier to the paid one',
  },
  { provider: 'Chainstack', kind: 'results', code: -32002, message: 'request timed out' },
  {
    ...{ provider: 'LlamaNodes', kind: 'results', code: -32602, blocks: 10 },
    message: 'query exceeds max results 20000, retry with the range 100-109',
  },
  {
    ...{ provider: 'reth', kind: 'results', code: -32602, blocks: 8_085 },
    message: 'query exceeds max results 20000, retry with the range 25766988-25775072',
  },
  {
    ...{ provider: 'reth', kind: 'results', code: -32008 },
    message: 'Response is too big: Exceeded max limit of 167772160',
  },
  {
    ...{ provider: '1RPC', kind: 'results', code: -32000 },
    message: 'response size should not greater than 10000000 bytes',
  },
  {
    ...{ provider: 'mainnet.optimism.io', kind: 'results', code: -32020 },
    message: 'backend response too large',
  },
  { provider: 'geth', kind: 'results', code: -32003, message: 'response too large' },
  {
    ...{ provider: 'Arbitrum', kind: 'results', code: -32000 },
    message: 'logs matched by query exceeds limit of 10000',
  },
  {
    ...{ provider: 'nethermind', kind: 'results', code: -32005 },
    message: 'Too many logs requested. Max logs per response is 20000.',
  },
  // A batch.
  {
    ...{ provider: 'dRPC', kind: 'batch', code: 31, status: 500 },
    message:
      'Batch of more than 3 requests are not allowed on free tier, to use this feature register paid account at drpc.org',
  },
  { provider: 'geth', kind: 'batch', code: -32600, message: 'batch too large' },
  {
    ...{ provider: 'erigon', kind: 'batch', code: -32000, status: 413 },
    message:
      'batch limit 100 exceeded (can increase by --rpc.batch.limit). Requested batch of size: 401',
  },
  { provider: 'nethermind', kind: 'batch', code: -32005, message: 'Batch size limit exceeded' },
  {
    ...{ provider: 'reth', kind: 'batch', code: -32010 },
    ...{ message: 'The batch request was too large', data: 'Exceeded max limit of 5' },
  },
  {
    ...{ provider: 'reth', kind: 'batch', code: -32005 },
    message: 'Batched requests are not supported by this server',
  },
  {
    ...{ provider: 'besu', kind: 'batch', code: -32005, status: 400 },
    message: 'Number of requests exceeds max batch size',
  },
  {
    ...{ provider: 'Gnosis', kind: 'batch', code: -32600 },
    message: 'Too many ["eth_getLogs"] methods in the batch',
  },
  { provider: 'QuickNode', kind: 'batch', code: -32007, message: 'batch limit exceeded' },
  {
    ...{ provider: 'bsc-dataseed', kind: 'batch', code: -32005 },
    message: 'method eth_getLogs in batch triggered rate limit',
  },
  {
    ...{ provider: 'servers in Go without batches', kind: 'batch', code: -32700, status: 400 },
    message: 'json: cannot unmarshal array into Go value of type rpc.Request',
  },
  // Our request rate.
  {
    ...{ provider: 'Alchemy', kind: 'pace', code: 429, status: 429 },
    message:
      'Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.',
  },
  {
    ...{ provider: 'Alchemy', kind: 'pace', code: 429, status: 429 },
    message: 'Monthly capacity limit exceeded.',
  },
  {
    ...{ provider: 'Infura', kind: 'pace', code: -32005, status: 429 },
    message: 'daily request count exceeded, request rate limited',
  },
  {
    ...{ provider: 'Infura', kind: 'pace', code: -32005, status: 429 },
    message: 'project ID request rate exceeded',
  },
  {
    ...{ provider: 'QuickNode', kind: 'pace', code: -32007, status: 429 },
    message:
      '50/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
  },
  { provider: 'QuickNode', kind: 'pace', code: -32012, message: 'credits limited to 6000/sec' },
  {
    ...{ provider: 'Ankr', kind: 'pace', code: -32090, status: 429 },
    message: 'Too many requests, reason: call rate limit exhausted, retry in 10s',
  },
  {
    ...{ provider: 'Ankr', kind: 'pace', code: -31999, message: 'rate limit exceeded' },
    data: 'You have reached the request limit for free users! Top up your balance.',
  },
  { provider: 'dRPC', kind: 'pace', code: 15, message: 'Too many request, try again later' },
  {
    ...{ provider: 'Chainstack', kind: 'pace', code: -32005, status: 429 },
    message: "You've exceeded the RPS limit available on the current plan.",
  },
  { provider: 'a gateway', kind: 'pace', code: -32001, message: 'Exceeded the quota usage' },
  {
    ...{ provider: 'a gateway', kind: 'pace', code: -32000, message: 'requests limited to 20/sec' },
  },
  { provider: 'Tenderly', kind: 'pace', code: -32005, message: 'rate limit exceeded', status: 429 },
  { provider: 'mainnet.base.org', kind: 'pace', code: -32016, message: 'over rate limit' },
  {
    ...{ provider: 'base node', kind: 'pace', code: -32000 },
    message:
      '429 Too Many Requests: {"jsonrpc":"2.0","error":{"code":-32016,"message":"over rate limit"},"id":2239375}',
  },
  // An unspecified limit.
  { provider: 'bsc-dataseed', kind: 'limit', code: -32005, message: 'limit exceeded' },
  // No smaller request helps.
  {
    ...{ provider: 'geth', kind: 'missing', code: -32601 },
    message: 'the method eth_getLogs does not exist/is not available',
  },
  { provider: 'QuickNode', kind: 'missing', code: -32601, message: 'Method not found' },
  {
    ...{ provider: 'a gateway', kind: 'missing', code: -32601 },
    message: 'Method eth_getLogs is not whitelisted',
  },
  {
    ...{ provider: 'Chainstack', kind: 'missing', code: -32002, status: 403 },
    message: 'Archive, Debug and Trace requests are not available on your current plan.',
  },
  {
    ...{ provider: 'a small plan', kind: 'missing', code: -32000, status: 403 },
    message: 'eth_getLogs is not available on your plan',
  },
  {
    ...{ provider: 'a small plan', kind: 'missing', code: -32000 },
    message: 'This method is not supported on the free plan',
  },
  {
    ...{ provider: 'PublicNode', kind: 'missing', code: -32602, status: 403 },
    message: 'Archive requests require a personal token.',
  },
  {
    ...{ provider: 'Ankr', kind: 'missing', code: -32000 },
    message: 'Unauthorized: You must authenticate your request with an API key.',
  },
  { provider: 'dRPC', kind: 'missing', code: 4, status: 403, message: 'token is invalid' },
  {
    provider: 'Alchemy',
    kind: 'missing',
    code: -32600,
    status: 401,
    message: 'Must be authenticated!',
  },
  // None of the above.
  { provider: 'geth', kind: 'other', code: -32000, message: 'header not found' },
  {
    ...{ provider: 'geth', kind: 'other', code: -32000 },
    message: 'block range extends beyond current head block',
  },
  {
    ...{ provider: 'mainnet.base.org', kind: 'other', code: -32011, status: 503 },
    message: 'no backend is currently healthy to serve traffic',
  },
  { provider: 'any', kind: 'other', code: -32603, message: 'Internal error' },
  { provider: 'any', kind: 'other', code: -32600, message: 'Invalid request' },
  { provider: 'a contract', kind: 'other', code: 3, message: 'execution reverted: rate limit' },
  {
    ...{ provider: 'a contract', kind: 'other', code: -32000 },
    message: 'execution reverted: batch too large',
  },
]
