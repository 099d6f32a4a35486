import * as z from 'zod'
import type { Finality, WalletSource } from '../../domain/settings.ts'
import { basisPoints, ether, gasPrice, positiveDecimal } from '../amount-scalars.ts'
import {
  address,
  addressKey,
  botToken,
  codeHash,
  duration,
  filePath,
  flag,
  integer,
  listOf,
  nameKey,
  nameOf,
  oneOf,
  privateChat,
  scalar,
  section,
  serviceAddress,
  textLike,
  webAddress,
} from '../scalars.ts'
import { aggregatorSchema } from './aggregator-schema.ts'
import { notifySchema } from './notify.ts'

/** Permit2 has this address on every chain that it was deployed to. */
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

const ONE_SOURCE =
  'exactly one of: keystore (with passwordFile), privateKeyFile, privateKeyEnv; or address, in mode: dry-run'

export const MODES = ['sandbox', 'dry-run', 'live'] as const

const wallet = section({
  keystore: filePath().optional().describe('Path of an encrypted v3 keystore'),
  passwordFile: filePath().optional().describe('Path of the file with its password'),
  address: address.optional().describe('Address alone, without a key; enough for mode: dry-run'),
  privateKeyFile: filePath().optional().describe('Path of a file with the private key in hex'),
  privateKeyEnv: textLike(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')
    .optional()
    .describe('Environment variable with the private key in hex; not the key itself'),
}).transform((source, context): WalletSource => {
  const { keystore, passwordFile, privateKeyFile, privateKeyEnv, address } = source
  const refuse = (message: string) => {
    context.issues.push({
      code: 'custom',
      input: source,
      message,
      params: { expected: ONE_SOURCE },
    })
    return z.NEVER
  }
  const given = [keystore, privateKeyFile, privateKeyEnv, address].filter(
    (value) => value !== undefined,
  )
  if (given.length !== 1)
    return refuse(given.length === 0 ? 'this wallet has no key' : 'this wallet has several keys')
  if ((keystore === undefined) !== (passwordFile === undefined))
    return refuse('a keystore and its passwordFile belong together')
  if (keystore !== undefined && passwordFile !== undefined)
    return { type: 'keystore', keystore, passwordFile }
  if (address !== undefined) return { type: 'address', address }
  if (privateKeyFile !== undefined) return { type: 'privateKeyFile', file: privateKeyFile }
  return { type: 'privateKeyEnv', name: privateKeyEnv ?? '' }
})

const BLOCKS_MAX = 100_000
const FINALITY = `\`safe\`, \`finalized\`, or a whole number of blocks up to ${BLOCKS_MAX}`

const finality = scalar<Finality>({
  expected: FINALITY,
  json: {
    anyOf: [{ enum: ['safe', 'finalized'] }, { type: 'integer', minimum: 0, maximum: BLOCKS_MAX }],
  },
  read(text) {
    if (text === 'safe' || text === 'finalized') return { ok: true, value: text }
    if (!/^(0|[1-9]\d{0,5})$/.test(text) || Number(text) > BLOCKS_MAX)
      return { ok: false, message: 'this is no depth of blocks' }
    return { ok: true, value: Number(text) }
  },
})

const chain = section({
  chainId: integer({ min: 1, max: 1_000_000_000_000 }).describe('EIP-155 chain id'),
  rpcUrls: listOf(webAddress, 'a list of at least one RPC address').describe('Tried in this order'),
  finality: finality
    .prefault('32')
    .describe('What no reorganisation undoes: so many blocks, `safe` or `finalized`'),
  agree: integer({ min: 1, max: 20 })
    .prefault('1')
    .describe('Nodes of rpcUrls that must say the same of a death or a fill'),
  explorer: webAddress.optional().describe('Address of a block explorer, for links'),
  code: z
    .record(addressKey, codeHash, { error: 'a map of address: hash' })
    .prefault({})
    .describe(
      'Pins: hashes that contracts must have, by address; of a proxy, that of its implementation',
    ),
  gas: section({
    maxFeePerGas: gasPrice.optional().describe('Most that a transaction offers for each gas'),
    maxPriorityFeePerGas: gasPrice.optional().describe('Most of it that is a tip'),
    perTransaction: ether
      .optional()
      .describe('Ether that one transaction may cost for gas: its gas times its highest fee'),
    perDay: ether.optional().describe('Ether that gas may cost in 24 hours'),
  })
    .prefault({})
    .describe('What the wallets may spend on gas here, whatever a node suggests'),
})

/** A service''s own word for a routing preference. */
export const routingWord = textLike(/^\S{1,64}$/, 'one word')

const gasless = section({
  baseUrl: serviceAddress.describe('Address of the service; /api/v1 is appended'),
  chain: nameOf('a key of `chains`').describe('Key of the chain with id 8453'),
  wallet: nameOf('a key of `wallets`').describe('Key of the wallet that trades'),
  permit2: address.prefault(PERMIT2).describe('The Permit2 contract'),
  spenders: listOf(address, 'a list of at least one settlement contract').describe(
    'The only contracts that a permit may name as spender',
  ),
  slippageBps: basisPoints({ min: 1, max: 2_000 })
    .prefault('50')
    .describe('Slippage in basis points for strategies that name none'),
  routingPreference: oneOf(['auto', 'preferOwn', 'onlyOwn'])
    .prefault('auto')
    .describe("Whether orders prefer the service's own liquidity, or take no other"),
  approval: oneOf(['exact', 'budget', 'unlimited'])
    .prefault('budget')
    .describe('Allowance for Permit2: one order, what the limits still allow today, everything'),
  maxQuoteLifetime: duration({ min: '1s', max: '1d' })
    .prefault('10m')
    .describe('Longest time for which a permit may be valid'),
  requestsPerSecond: integer({ min: 1, max: 1_000 })
    .prefault('5')
    .describe('Ceiling; the service may ask for less'),
  wire: section({
    preferOwn: routingWord.prefault('preferOwn').describe('Its word for `preferOwn`'),
    onlyOwn: routingWord.prefault('onlyOwn').describe('Its word for `onlyOwn`'),
  })
    .prefault({})
    .describe('The service words for the two routing preferences'),
})

const token = section({
  chain: nameOf('a key of `chains`').describe('Key of a chain'),
  address: address.describe('The ERC-20 contract'),
  decimals: integer({ min: 0, max: 36 }).describe('Decimal places of its base unit'),
})

const price = section({
  feed: address.describe('Chainlink-style feed: price of one BASE in QUOTE'),
  chain: nameOf('a key of `chains`').describe('Key of the chain that the feed is on'),
  maxAge: duration({ min: '1s', max: '7d' }).prefault('1h').describe('Older answers are refused'),
  sequencerFeed: address.optional().describe('Feed that reports whether the L2 sequencer is up'),
})

const PAIR = /^[A-Za-z0-9._-]{1,32}\/[A-Za-z0-9._-]{1,32}$/
const pairKey = z.string().regex(PAIR, 'BASE/QUOTE, such as WETH/USDC')

const capsByToken = z
  .record(nameKey, positiveDecimal, { error: 'a map of token: amount' })
  .prefault({})

const limits = section({
  maxDeviationBps: basisPoints({ min: 1, max: 5_000 })
    .prefault('200')
    .describe('Widest distance of a quote from the feed, in basis points'),
  perOrder: capsByToken.describe('Most that one order may sell of a token'),
  perHour: capsByToken.describe('Most that may be sold of a token in an hour, over all strategies'),
  perDay: capsByToken.describe('Most that may be sold of a token in 24 hours, over all strategies'),
  perWeek: capsByToken.describe('Most that may be sold of a token in seven days'),
  total: capsByToken.describe('Most that may ever be sold of a token'),
  cooldown: duration({ min: '0s', max: '365d' })
    .prefault('0s')
    .describe('Shortest time between two orders of any strategies'),
  maxOpenIntents: integer({ min: 1, max: 10_000 })
    .optional()
    .describe('Orders of all strategies that may be unresolved at once'),
  maxFailures: integer({ min: 1, max: 1_000 })
    .optional()
    .describe('Slots in a row that may come to nothing before everything is halted'),
})

const CHATS_MAX = 20

const control = section({
  telegram: section({
    token: botToken.describe('Of a bot that nothing else listens for'),
    chats: listOf(privateChat, 'a list of at least one user of Telegram')
      .max(CHATS_MAX, { error: `at most ${CHATS_MAX} users` })
      .describe('Users whose private chat with the bot is obeyed; others get no answer'),
    resume: flag
      .prefault('true')
      .describe('Whether a halt or a pause may be ended there, after asking twice'),
    apiRoot: webAddress
      .prefault('https://api.telegram.org')
      .describe('Address of the Bot API, for a server of your own'),
  })
    .optional()
    .describe('Look, pause and halt by messages to a bot'),
})

/** A config file. Every default is here; references between sections are checked by `build.ts`. */
export const settingsSchema = section({
  mode: oneOf(MODES).describe('live signs with your key; it has to be written here'),
  stateDir: filePath().prefault('./data').describe('Directory of the journal and the lock'),
  stateAnchor: filePath()
    .optional()
    .describe(
      'File outside stateDir that shows a state which went back; by default beside the key of the wallet that trades',
    ),
  journal: section({
    archive: filePath()
      .optional()
      .describe('Directory that finished files of the journal are moved to; without it they stay'),
    keepFiles: integer({ min: 2, max: 4_096 })
      .prefault('64')
      .describe('Files of 4 MiB that stay in stateDir'),
  })
    .prefault({})
    .describe('How much of the journal stays in stateDir'),
  strategiesDir: filePath().prefault('./strategies').describe('Directory of the strategy files'),
  http: section({
    host: textLike(/^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or address')
      .prefault('127.0.0.1')
      .describe('Address that is listened on; there is no login, so leave it on this machine'),
    port: integer({ min: 0, max: 65_535 }).prefault('9464').describe('0 picks a free port'),
    hosts: z
      .array(textLike(/^[A-Za-z0-9._-]{1,253}$/, 'a host name, without scheme and port'), {
        error: 'a list of host names',
      })
      .prefault([])
      .describe('Further names that the page is asked for by, as behind a proxy'),
    page: flag.prefault('true').describe('Serve the page at /'),
  })
    .prefault({})
    .describe('Metrics, health and a page to look at, read-only'),
  log: section({
    level: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .prefault('info')
      .describe('The least that is written'),
    format: oneOf(['auto', 'json', 'pretty'])
      .prefault('auto')
      .describe('auto is pretty on a terminal and JSON elsewhere'),
  })
    .prefault({})
    .describe('On standard error'),
  wallets: z
    .record(nameKey, wallet, { error: 'a map of name: wallet' })
    .describe('Keys to sign with, by a name of yours; each has one source'),
  chains: z
    .record(nameKey, chain, { error: 'a map of name: chain' })
    .describe('Chains and nodes to read them by, by a name of yours'),
  gasless: gasless.describe('The swap service on Base'),
  aggregator: aggregatorSchema.optional().describe('The transaction service on Ethereum'),
  tokens: z
    .record(nameKey, token, { error: 'a map of symbol: token' })
    .describe('The only tokens that a strategy may name'),
  prices: z
    .record(pairKey, price, { error: 'a map of BASE/QUOTE: feed' })
    .prefault({})
    .describe('Independent prices that quotes are held against'),
  limits: limits.prefault({}).describe('What no strategy can exceed, whatever its file says'),
  paper: z
    .record(nameKey, positiveDecimal, { error: 'a map of token: amount' })
    .optional()
    .describe('In mode: dry-run, what the wallet is taken to begin with, whatever it holds'),
  control: control.prefault({}).describe('From afar; off unless something is given here'),
  notify: notifySchema.prefault({}).describe('Who is notified of what'),
})

export type SettingsInput = z.output<typeof settingsSchema>
