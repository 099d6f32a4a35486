import {
  addressWord,
  CHAIN_ID,
  FEED,
  FEED_DECIMALS,
  MULTICALL3,
  PRICE,
  SEQUENCER_FEED,
  SETTLEMENT,
  word,
} from './lean-simulation.mjs'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const GENESIS_HASH = `0x${'47'.repeat(32)}`
const BLOOM = `0x${'0'.repeat(512)}`
const WORD = 64
const BALANCE = word(10n ** 30n)
const SEQUENCER_UP_FOR_SECONDS = 86_400
/** Blocks come twenty times as fast as on Base, so that fills become final within a run, as they do within a day. */
const BLOCK_MS = 100
const FIRST_BLOCK = 1_000

/**
 * The JSON-RPC node: answers batches and single calls from the ledger of settlements. A settlement is in the newest
 * block at once; every block is as old as the second of the request.
 */
export function createLeanNode() {
  /** Used bits by nonce word. */
  const bitmaps = new Map()
  const settled = new Map()
  const startedMs = performance.now()
  const head = () => FIRST_BLOCK + Math.floor((performance.now() - startedMs) / BLOCK_MS)

  const nowSeconds = () => Math.floor(Date.now() / 1000)
  const round = (answer, startedAt) =>
    [1, answer, startedAt, nowSeconds(), 1].map((value) => word(BigInt(value))).join('')

  /** Return data of one view call, without 0x. Selectors are those of the functions named. */
  function read(target, data) {
    switch (data.slice(0, 8)) {
      case '42cbb15c': // getBlockNumber()
        return word(head())
      case '0f28c97d': // getCurrentBlockTimestamp()
        return word(nowSeconds())
      case '4d2301cc': // getEthBalance(address)
      case '70a08231': // balanceOf(address)
      case 'dd62ed3e': // allowance(address,address)
        return BALANCE
      case 'feaf968c': // latestRoundData()
        if (target === FEED) return round(PRICE * 10n ** BigInt(FEED_DECIMALS), nowSeconds())
        if (target === SEQUENCER_FEED) return round(0, nowSeconds() - SEQUENCER_UP_FOR_SECONDS)
        return ''
      case '313ce567': // decimals()
        return word(FEED_DECIMALS)
      case '4fe02b44': // nonceBitmap(address,uint256)
        return word(bitmaps.get(data.slice(8 + WORD, 8 + 2 * WORD)) ?? 0n)
      default:
        return ''
    }
  }

  /** `aggregate3((address,bool,bytes)[])` of Multicall3, decoded and encoded by hand. */
  function aggregate(data) {
    const body = data.slice(8)
    const at = (offset) => body.slice(offset, offset + WORD)
    const offsetAt = (offset) => 2 * Number.parseInt(at(offset), 16)
    const array = offsetAt(0)
    const count = Number.parseInt(at(array), 16)
    const items = array + WORD
    let offsets = ''
    let results = ''
    for (let index = 0; index < count; index += 1) {
      const tuple = items + offsetAt(items + index * WORD)
      const bytes = tuple + offsetAt(tuple + 2 * WORD)
      const target = `0x${at(tuple).slice(24)}`
      const answer = read(target, body.slice(bytes + WORD, bytes + WORD + offsetAt(bytes)))
      offsets += word(count * 32 + results.length / 2)
      results += `${word(1)}${word(64)}${word(answer.length / 2)}${answer}`
    }
    return `${word(32)}${word(count)}${offsets}${results}`
  }

  /** The call that reads code hashes: 26 bytes of code per address, and six at the end. */
  function codeHashes(data) {
    const count = (data.length - 2 - 12) / 52
    return `0x${word(0)}${word(1).repeat(count)}`
  }

  function call({ to, data }) {
    if (to === undefined) return codeHashes(data)
    const target = to.toLowerCase()
    const input = data.slice(2)
    return `0x${target === MULTICALL3 ? aggregate(input) : read(target, input)}`
  }

  const blockOf = (number) => ({
    hash: number === 0n ? GENESIS_HASH : `0x${word(number)}`,
    number: `0x${number.toString(16)}`,
    timestamp: `0x${nowSeconds().toString(16)}`,
  })

  function answer(method, params) {
    switch (method) {
      case 'eth_call':
        return call(params[0])
      case 'eth_chainId':
        return `0x${CHAIN_ID.toString(16)}`
      case 'eth_getStorageAt':
        return '0x0'
      case 'eth_getCode':
        return '0x'
      case 'eth_blockNumber':
        return `0x${head().toString(16)}`
      case 'eth_getBlockByNumber':
        return blockOf(params[0] === 'latest' ? BigInt(head()) : BigInt(params[0]))
      case 'eth_getTransactionReceipt':
        return receiptOf(settled.get(params[0]))
      case 'eth_getTransactionByHash':
        return transactionOf(settled.get(params[0]))
      case 'eth_getTransactionCount':
        return '0x0'
      case 'eth_getLogs':
        return []
      default:
        throw new Error(`the lean node does not know ${method}`)
    }
  }

  const reply = ({ id, method, params }) => ({ jsonrpc: '2.0', id, result: answer(method, params) })

  return {
    handle({ body }) {
      const request = JSON.parse(body)
      const response = Array.isArray(request) ? request.map(reply) : reply(request)
      return { status: 200, body: JSON.stringify(response) }
    },
    /** Executes a permit at once; returns the transaction's hash. */
    settle(fill) {
      const number = head()
      const hash = `0x${word(FIRST_BLOCK + settled.size)}`
      const key = word(fill.nonce >> 8n)
      bitmaps.set(key, (bitmaps.get(key) ?? 0n) | (1n << (fill.nonce & 255n)))
      settled.set(hash, { ...fill, hash, blockHash: `0x${word(number)}`, block: `0x${number.toString(16)}` })
      return hash
    },
  }
}

function place({ hash, blockHash, block }) {
  return {
    transactionHash: hash,
    transactionIndex: '0x0',
    blockHash,
    blockNumber: block,
  }
}

function transferLog(fill, { token, from, to, amount, logIndex }) {
  return {
    address: token,
    topics: [TRANSFER, `0x${addressWord(from)}`, `0x${addressWord(to)}`],
    data: `0x${word(amount)}`,
    logIndex,
    removed: false,
    ...place(fill),
  }
}

function receiptOf(fill) {
  if (fill === undefined) return null
  const { owner, recipient, sellToken, buyToken, sellAmount, buyAmount } = fill
  const sold = { token: sellToken, from: owner, to: SETTLEMENT, amount: sellAmount }
  const bought = { token: buyToken, from: SETTLEMENT, to: recipient, amount: buyAmount }
  return {
    ...place(fill),
    type: '0x2',
    status: '0x1',
    from: SETTLEMENT,
    to: SETTLEMENT,
    contractAddress: null,
    cumulativeGasUsed: '0x14050',
    gasUsed: '0x14050',
    effectiveGasPrice: '0xf4240',
    logsBloom: BLOOM,
    logs: [
      transferLog(fill, { ...sold, logIndex: '0x0' }),
      transferLog(fill, { ...bought, logIndex: '0x1' }),
    ],
  }
}

/** The calldata carries the permit's nonce and deadline, as in a settlement: Permit2 hashes both. */
function transactionOf(fill) {
  if (fill === undefined) return null
  const input = `0x5e771e00${word(fill.nonce)}${word(fill.deadline)}${word(fill.sellAmount)}${word(fill.buyAmount)}`
  return { hash: fill.hash, blockNumber: fill.block, from: SETTLEMENT, to: SETTLEMENT, input }
}
