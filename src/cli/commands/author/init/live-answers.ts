import { loadSettings } from '../../../../config/settings/load-settings.ts'
import type { Problem } from '../../../../config/yaml/problem.ts'
import { parseAmount, ZERO_ADDRESS } from '../../../../domain/money/units.ts'
import type { Settings } from '../../../../domain/settings.ts'
import { emptyState } from '../../../../journal/state/state-image.ts'
import { openProbes } from '../../../compose/checkup.ts'
import { chainOf } from '../../../compose/services.ts'
import type { Io } from '../../../process/io.ts'
import { type Check, inspectReply, type Known } from '../../doctor/check.ts'
import { inspectChains } from '../../doctor/check-chains.ts'
import { checkCode, inspectContracts } from '../../doctor/check-contracts.ts'
import { checkFeed } from '../../doctor/check-market.ts'
import { inspectGasless } from '../../doctor/check-services.ts'
import type { Read } from './init-answers.ts'

/** Values for `config/live.yaml` as typed. What is missing stays as in the example. */
export type LiveAnswers = {
  readonly [Name in keyof typeof QUESTIONS]?: string | undefined
}
type Name = keyof LiveAnswers

/** Each question, and what the files have if it is skipped. */
const QUESTIONS = {
  rpc: ['RPC URL of Base, from your node or a provider', 'BASE_RPC_URL'],
  service: ["URL of the swap service, without /api/v1, from the service's operator", 'GASLESS_URL'],
  spender: ['Its settlement spender, from the same source', 'GASLESS_SPENDER'],
  tokens: ['Tokens beside USDC and WETH, separated by commas: DAI, cbBTC, AERO', 'none'],
  perOrder: ['Most that one order may sell, in USDC', '250'],
  perDay: ['Most that all orders may sell in 24 hours, in USDC', '1000'],
  amount: ['Amount of each `dca` order, in USDC', '25'],
} as const

export const LIVE_FLAGS = Object.keys(QUESTIONS) as readonly Name[]

/** Values for variables without an answer; nothing is requested from them. */
const UNSET = {
  BASE_RPC_URL: 'http://127.0.0.1:9',
  GASLESS_URL: 'http://127.0.0.1:9',
  GASLESS_SPENDER: '0x0000000000000000000000000000000000000001',
}

const SKIP = 'skip'
const TRIES_MAX = 3
const TIMEOUT_MS = 4_500

type Place = Pick<Io, 'ask' | 'env'> & {
  readonly say: (line: string) => void
  /** The config with these answers. */
  readonly config: (answers: LiveAnswers) => Read<string>
  readonly open?: typeof openProbes
}

/** Takes the answers from flags or a person, and checks each at once as `doctor` does. Found faults do not forbid an answer. */
export async function gatherLive(flags: LiveAnswers, place: Place): Promise<Read<LiveAnswers>> {
  let answers: LiveAnswers = {}
  for (const name of LIVE_FLAGS) {
    const flag = flags[name]
    if (flag === undefined) {
      answers = await askFor(name, answers, place)
      continue
    }
    answers = { ...answers, [name]: flag }
    const tried = await checked(name, answers, place)
    const dashed = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    if (!tried.ok) return { ok: false, text: `flag --${dashed}: ${tried.text}` }
  }
  // WETH, USDC and their feed are in the config anyway.
  const isUnchecked = answers.tokens === undefined && answers.rpc !== undefined
  if (isUnchecked) await checked('tokens', answers, place)
  return { ok: true, value: answers }
}

/** Allows a person `TRIES_MAX` tries; without a valid one the value stays as in the example. */
async function askFor(name: Name, answers: LiveAnswers, place: Place): Promise<LiveAnswers> {
  let kept: string | undefined
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const [question, skipped] = QUESTIONS[name]
    const again = kept === undefined ? '' : '; the same again keeps it'
    const answer = await place.ask(`${question} [${SKIP}: ${skipped}${again}]: `)
    if (answer === undefined || answer === '' || answer === SKIP) break
    const given = { ...answers, [name]: answer }
    const tried = await checked(name, given, place)
    if (tried.ok && (tried.value || kept === answer)) return given
    if (!tried.ok) place.say(`  ${tried.text}`)
    kept = tried.ok ? answer : undefined
  }
  return answers
}

/** True without a fault. Prints what it finds. */
async function checked(name: Name, given: LiveAnswers, place: Place): Promise<Read<boolean>> {
  const read = settingsOf(given, place)
  if (!read.ok) return read
  const checks = await checksOf(name, read.value, given, place)
  for (const { verdict, says, remedy } of checks)
    place.say(`  ${verdict}: ${says}${remedy === undefined ? '' : `\n    -> ${remedy}`}`)
  return { ok: true, value: checks.every(({ verdict }) => verdict !== 'fault') }
}

/** The config loader judges the form of an answer. */
function settingsOf(answers: LiveAnswers, { config, env }: Place): Read<Settings> {
  const text = config(answers)
  if (!text.ok) return text
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
  const sources = { file: '/config/live.yaml', env: { ...UNSET, ...set } }
  const loaded = loadSettings({ ...sources, readFile: () => text.value })
  const textOf = ({ path, message, expected }: Problem) =>
    `${path}: ${message}; expected ${expected}`
  if (!loaded.ok) return { ok: false, text: loaded.problems.map(textOf).join('; ') }
  const { settings } = loaded
  const usdc = settings.tokens.get('USDC')
  const most = usdc && settings.limits.perOrder.get(usdc.address)
  const amount = answers.amount === undefined ? 1n : parseAmount(answers.amount, 6)
  if (amount === undefined || amount === 0n || amount > (most ?? amount))
    return { ok: false, text: 'the amount must be positive, and at most what one order may sell' }
  const daily = usdc && settings.limits.perDay.get(usdc.address)
  const isBound = answers.perDay !== undefined && most !== undefined && daily !== undefined
  if (isBound && daily < most)
    return { ok: false, text: 'a day must allow at least what one order may sell' }
  return { ok: true, value: settings }
}

async function checksOf(
  name: Name,
  settings: Settings,
  answers: LiveAnswers,
  { env, open = openProbes }: Place,
): Promise<readonly Check[]> {
  const hasNode = answers.rpc !== undefined || env['BASE_RPC_URL'] !== undefined
  const isOnChain = hasNode && ['rpc', 'spender', 'tokens'].includes(name)
  if (name !== 'service' && !isOnChain) return []
  const state = emptyState()
  const probes = open({ settings, state, timeoutMs: TIMEOUT_MS, env })
  const known: Known = { settings, strategies: [], state, owner: undefined, operator: undefined }
  try {
    if (name === 'service') return [await inspectGasless(known, probes)].flat()
    const chains = await inspectChains(known, probes)
    if (name === 'rpc') return chains.checks
    const chain = chainOf(chains.settings, settings.gasless.chain)
    const [spender = ZERO_ADDRESS] = settings.gasless.spenders
    if (name === 'spender')
      return await inspectReply(
        'code',
        () => probes.code(chain, [spender]),
        (codes) => checkCode(chain.name, [{ path: 'gasless.spenders', address: spender }], codes),
      )
    const feeds = [...settings.prices.values()]
    const { genesisHash } = chains
    const spenders = answers.spender === undefined ? [] : settings.gasless.spenders
    const own = { ...chains.settings, gasless: { ...settings.gasless, spenders } }
    const [contracts, prices] = await Promise.all([
      inspectContracts({ ...known, settings: own, genesisHash }, chain, probes),
      inspectReply(
        'feed',
        () => probes.view({ owner: ZERO_ADDRESS, tokens: [], feeds }),
        ({ readings, blockTimeSeconds: nowSeconds }) =>
          feeds.map((feed) =>
            checkFeed({ feed, reading: readings.get(feed.pair), nowSeconds, users: [] }),
          ),
      ),
    ])
    return [contracts, prices].flat(2)
  } finally {
    await probes.close()
  }
}
