import * as z from 'zod'
import type { Finality, GaslessSettings, WalletSource } from '../../domain/settings.ts'
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
  PAIR,
  PAIR_FORM,
  privateChat,
  scalar,
  section,
  serviceAddress,
  textLike,
  webAddress,
} from '../scalars.ts'
import { aggregatorSchema } from './aggregator-schema.ts'
import { notifySchema } from './notify.ts'

/** Permit2 has this address on every chain that has it. */
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

const ONE_SOURCE =
  'exactly one of: keystore (with passwordFile), privateKeyFile, privateKeyEnv; or address, in mode: dry-run'

export const MODES = ['sandbox', 'dry-run', 'live'] as const

const wallet = section({
  keystore: filePath().optional().describe('Path of an encrypted v3 keystore'),
  passwordFile: filePath().optional().describe('Path of the file with the keystore password'),
  address: address.optional().describe('Address without a key; only for mode: dry-run'),
  privateKeyFile: filePath().optional().describe('Path of a file with the private key in hex'),
  privateKeyEnv: textLike(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable')
    .optional()
    .describe('Name of the environment variable with the private key in hex'),
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
      return { ok: false, message: 'this is not a number of blocks' }
    return { ok: true, value: Number(text) }
  },
})

const chain = section({
  chainId: integer({ min: 1, max: 1_000_000_000_000 }).describe('EIP-155 chain id'),
  rpcUrls: listOf(webAddress, 'a list of at least one RPC address').describe('Tried in this order'),
  finality: finality
    .prefault('32')
    .describe('Depth of a final block: a number of blocks, `safe` or `finalized`'),
  agree: integer({ min: 1, max: 20 })
    .prefault('1')
    .describe('Number of nodes that must agree that an order is dead or filled'),
  explorer: webAddress.optional().describe('URL of a block explorer, for links'),
  code: z
    .record(addressKey, codeHash, { error: 'a map of address: hash' })
    .prefault({})
    .describe('Required code hash by contract address; for a proxy, that of its implementation'),
  gas: section({
    maxFeePerGas: gasPrice.optional().describe('Maximum fee per gas of a transaction'),
    maxPriorityFeePerGas: gasPrice.optional().describe('Maximum tip per gas, as part of that fee'),
    perTransaction: ether
      .optional()
      .describe('Maximum ether for the gas of one transaction: its gas times its maximum fee'),
    perDay: ether.optional().describe('Maximum ether for gas in 24 hours'),
  })
    .prefault({})
    .describe('Limits on gas on this chain, whatever a node suggests'),
})

/** The service's own word for a routing preference. */
export const routingWord = textLike(/^\S{1,64}$/, 'one word')

const gasless = section({
  baseUrl: serviceAddress.describe('URL of the service; /api/v1 is appended'),
  chain: nameOf('a key of `chains`').describe('Key of the chain with id 8453'),
  wallet: nameOf('a key of `wallets`').describe('Key of the trading wallet'),
  permit2: address.prefault(PERMIT2).describe('Permit2 contract'),
  spenders: listOf(address, 'a list of at least one settlement contract').describe(
    'The only contracts that a permit may name as spender',
  ),
  slippageBps: basisPoints({ min: 1, max: 2_000 })
    .prefault('50')
    .describe('Default slippage of strategies, in basis points'),
  routingPreference: oneOf(['auto', 'preferOwn', 'onlyOwn'])
    .prefault('auto')
    .describe("Whether orders prefer the service's own liquidity, or use nothing else"),
  approval: oneOf(['exact', 'budget', 'unlimited'])
    .prefault('budget')
    .describe('Allowance for Permit2: one order, what the limits still allow today, or unlimited'),
  maxQuoteLifetime: duration({ min: '1s', max: '1d' })
    .prefault('10m')
    .describe('Maximum validity of a permit'),
  requestsPerSecond: integer({ min: 1, max: 1_000 })
    .prefault('5')
    .describe('Maximum request rate; the service may ask for less'),
  wire: section({
    preferOwn: routingWord.prefault('preferOwn').describe('Word of the service for `preferOwn`'),
    onlyOwn: routingWord.prefault('onlyOwn').describe('Word of the service for `onlyOwn`'),
  })
    .prefault({})
    .describe('Words of the service for routing preferences'),
})

const token = section({
  chain: nameOf('a key of `chains`').describe('Key of the chain of the token'),
  address: address.describe('ERC-20 contract'),
  decimals: integer({ min: 0, max: 36 }).describe('Decimals of the contract'),
})

const price = section({
  feed: address.describe('Chainlink-style feed: price of one BASE in QUOTE'),
  chain: nameOf('a key of `chains`').describe('Key of the chain of the feed'),
  maxAge: duration({ min: '1s', max: '7d' }).prefault('1h').describe('Maximum age of an answer'),
  sequencerFeed: address.optional().describe('Feed that reports whether the L2 sequencer is up'),
})

const pairKey = z.string().regex(PAIR, PAIR_FORM)

const capsByToken = z
  .record(nameKey, positiveDecimal, { error: 'a map of token: amount' })
  .prefault({})

const limits = section({
  maxDeviationBps: basisPoints({ min: 1, max: 5_000 })
    .prefault('200')
    .describe('Maximum deviation of a quote from the feed, in basis points'),
  perOrder: capsByToken.describe('Maximum amount of a token that one order sells'),
  perHour: capsByToken.describe('Maximum amount of a token sold in an hour, by all strategies'),
  perDay: capsByToken.describe('Maximum amount of a token sold in 24 hours, by all strategies'),
  perWeek: capsByToken.describe('Maximum amount of a token sold in seven days, by all strategies'),
  total: capsByToken.describe('Maximum amount of a token ever sold, by all strategies'),
  cooldown: duration({ min: '0s', max: '365d' })
    .prefault('0s')
    .describe('Minimum time between two orders of any strategies'),
  maxOpenIntents: integer({ min: 1, max: 10_000 })
    .optional()
    .describe('Maximum open orders at once, of all strategies'),
  maxFailures: integer({ min: 1, max: 1_000 })
    .optional()
    .describe('Slots in a row that fail, are refused or expire before everything is halted'),
})

const CHATS_MAX = 20

const control = section({
  telegram: section({
    token: botToken.describe('Token of a bot that no other program polls'),
    chats: listOf(privateChat, 'a list of at least one user of Telegram')
      .max(CHATS_MAX, { error: `at most ${CHATS_MAX} users` })
      .describe('Users who may command the bot in a private chat; others get no answer'),
    resume: flag
      .prefault('true')
      .describe('Whether the bot may end a halt or a pause, after asking twice'),
    apiRoot: webAddress
      .prefault('https://api.telegram.org')
      .describe('URL of the Bot API, for your own server'),
  })
    .optional()
    .describe('Telegram bot to inspect, pause and halt'),
})

/** A config file. All defaults are here; `build.ts` checks references between sections. */
export const settingsSchema = section({
  mode: oneOf(MODES).describe('`live` signs with your key and must be set here'),
  stateDir: filePath().prefault('./data').describe('Directory of the journal and the lock'),
  stateAnchor: filePath()
    .optional()
    .describe(
      'File outside stateDir that reveals an older or missing state; by default beside the key of the trading wallet',
    ),
  journal: section({
    archive: filePath()
      .optional()
      .describe('Directory for finished journal files; without it they stay in stateDir'),
    keepFiles: integer({ min: 2, max: 4_096 })
      .prefault('64')
      .describe('Journal files of 4 MiB that stay in stateDir'),
  })
    .prefault({})
    .describe('Retention of the journal in stateDir'),
  strategiesDir: filePath().prefault('./strategies').describe('Directory of the strategy files'),
  http: section({
    host: textLike(/^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or address')
      .prefault('127.0.0.1')
      .describe('Listen address; on a network, set viewTokenFile and use a proxy with TLS'),
    port: integer({ min: 0, max: 65_535 })
      .prefault('9464')
      .describe('Listen port; 0 picks a free one'),
    hosts: z
      .array(textLike(/^[A-Za-z0-9._-]{1,253}$/, 'a host name, without scheme and port'), {
        error: 'a list of host names',
      })
      .prefault([])
      .describe('Additional host names of the page, such as behind a proxy'),
    page: flag.prefault('true').describe('Serve the page at /'),
    control: section({
      tokenFile: filePath().describe('File with the token that pausing, halting and resuming need'),
    })
      .optional()
      .describe('Commands from the page; off by default'),
    viewTokenFile: filePath()
      .optional()
      .describe('File with the token that the page and /metrics need; by default, none'),
  })
    .prefault({})
    .describe('Metrics, health and the page'),
  log: section({
    level: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .prefault('info')
      .describe('Minimum level'),
    format: oneOf(['auto', 'json', 'pretty'])
      .prefault('auto')
      .describe('`auto` is pretty on a terminal and JSON elsewhere'),
  })
    .prefault({})
    .describe('Log on standard error'),
  wallets: z
    .record(nameKey, wallet, { error: 'a map of name: wallet' })
    .describe('Wallets by a name of your choice; each has one source'),
  chains: z
    .record(nameKey, chain, { error: 'a map of name: chain' })
    .describe('Chains and their nodes, by a name of your choice'),
  gasless: gasless.optional().describe('Swap service on Base; without it, nothing swaps'),
  aggregator: aggregatorSchema
    .optional()
    .describe('Transaction service on Ethereum; without it, nothing calls'),
  tokens: z
    .record(nameKey, token, { error: 'a map of symbol: token' })
    .prefault({})
    .describe('The only tokens that strategies may use, by symbol'),
  prices: z
    .record(pairKey, price, { error: 'a map of BASE/QUOTE: feed' })
    .prefault({})
    .describe('Independent prices to check quotes against'),
  limits: limits
    .prefault({})
    .describe('Limits that no strategy can exceed, whatever its file says'),
  paper: z
    .record(nameKey, positiveDecimal, { error: 'a map of token: amount' })
    .optional()
    .describe('Starting balances in mode: dry-run, whatever the wallet holds'),
  control: control.prefault({}).describe('Remote control; off by default'),
  notify: notifySchema.prefault({}).describe('Notifications'),
})

export type SettingsInput = z.output<typeof settingsSchema>

/** A config with the chain and wallet that trade: the aggregator's if nothing swaps. */
export type TradingInput = Omit<SettingsInput, 'gasless'> & { readonly gasless: GaslessSettings }
