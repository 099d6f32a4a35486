import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { createWalletClient, type Hex, http, keccak256 } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  callsOf,
  delegatedAccount,
  ETHER,
  QUIET,
  rawTransaction,
  recordData,
  submitAndLand,
} from '../support/aggregator/aggregator.ts'
import { openWatched, startBrowser } from '../support/page/browser.ts'
import { ROOT } from '../support/process/cli.ts'
import { admin, balanceOf, publicClientOf, sandboxForSuite } from '../support/sandbox.ts'
import { findBinary } from './binary.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const chromium = findBinary('chromium')
const ADDRESSES = {
  GASLESS: () => `${sandbox().gaslessUrl}/api/v1`,
  RPC: () => sandbox().rpcUrl,
  AGGREGATOR: () => sandbox().aggregatorUrl,
  AGGREGATOR_RPC: () => sandbox().sepolia.rpcUrl,
}

let site: Server
let origin: string

beforeAll(async () => {
  const code = await guideCode()
  site = createServer((request, response) => {
    const isPage = request.url === '/'
    response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript')
    response.end(isPage ? '<!doctype html><script src="/dapp.js"></script>' : code)
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
})

afterAll(() => {
  site?.closeAllConnections()
  site?.close()
})

/** The code of the guide as one script with this sandbox's addresses. */
async function guideCode(): Promise<string> {
  const guide = readFileSync(join(ROOT, 'docs/sandbox-services.md'), 'utf8')
  const blocks = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, block = '']) =>
    Object.entries(ADDRESSES).reduce(
      (text, [name, url]) =>
        text.replace(new RegExp(`(const ${name} = )'[^']+'`), `$1${JSON.stringify(url())}`),
      block,
    ),
  )
  const contents = blocks.join('\n')
  const known = Object.values(ADDRESSES).filter((url) => contents.includes(JSON.stringify(url())))
  expect(known).toHaveLength(4)
  const stdin = { contents, resolveDir: ROOT, loader: 'js' } as const
  const bundled = { bundle: true, write: false, format: 'iife', globalName: 'dapp' } as const
  const { outputFiles } = await build({ stdin, ...bundled, logLevel: 'silent' })
  return outputFiles[0]?.text ?? ''
}

/** What a wallet extension answers to a page. */
function walletOf(account: PrivateKeyAccount) {
  const client = createWalletClient({ account, chain: base, transport: http(sandbox().rpcUrl) })
  const asked: string[] = []
  const request = async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
    asked.push(method)
    const [first, second] = params
    if (method === 'eth_requestAccounts') return [account.address]
    if (method === 'eth_signTypedData_v4') return account.signTypedData(JSON.parse(String(second)))
    if (method === 'personal_sign') return account.signMessage({ message: { raw: first as Hex } })
    if (method === 'eth_sendTransaction') {
      const { to, data } = first as { to: Hex; data: Hex }
      return client.sendTransaction({ to, data })
    }
    return client.request({ method, params } as never)
  }
  return { asked, request }
}

async function openDapp(
  browser: Browser,
  permissions: string[] = [],
  account = privateKeyToAccount(generatePrivateKey()),
) {
  const wallet = walletOf(account)
  const watched = await openWatched(browser, `${origin}/`, (url) => url.startsWith('http://127.'), {
    permissions,
  })
  await watched.page.exposeFunction('askWallet', wallet.request)
  await watched.page.evaluate('globalThis.ethereum = { request: askWallet }')
  return { ...watched, account, asked: wallet.asked }
}

test('a page of another origin swaps, reads its rate limit and calls the aggregator as in the guide', async () => {
  const browser = await startBrowser(chromium)
  try {
    const { page, faults, account, asked } = await openDapp(browser)
    const { address } = account
    const fund = (path: string, amount: bigint, token?: string) =>
      admin(sandbox(), 'POST', path, { address, amount: amount.toString(), token })
    await fund('/fund', ETHER, 'ETH')
    await fund('/fund', 1_000_000_000n, 'USDC')
    await fund('/aggregator/deposit', ETHER)

    const order = await page.evaluate<Record<string, string>>("dapp.swap(ethereum, '25000000')")
    expect(order).toMatchObject({ status: 'filled', executedSellAmount: '25000000' })
    expect(await balanceOf(sandbox(), 'USDC', address)).toBe(975_000_000n)
    expect(await balanceOf(sandbox(), 'WETH', address)).toBe(
      BigInt(order['executedBuyAmount'] ?? 0),
    )
    const hash = order['txHash'] as Hex
    const receipt = await publicClientOf(sandbox()).getTransactionReceipt({ hash })
    expect(receipt.to).toBe(sandbox().contracts.settlement)
    expect(asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
    // The approval is unlimited: a second order needs none.
    expect(await page.evaluate("dapp.swap(ethereum, '25000000')")).toMatchObject({
      status: 'filled',
    })
    expect(asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)

    const limits = await page.evaluate<(string | null)[]>(`fetch(
      ${JSON.stringify(`${sandbox().gaslessUrl}/api/v1/tokens?chainId=8453`)},
    ).then(({ headers }) => ['limit', 'remaining', 'reset'].map((name) => headers.get('x-ratelimit-' + name)))`)
    // The swaps have read the tokens twice.
    expect(limits).toEqual(['600', '597', expect.stringMatching(/^\d+$/)])
    expect(await page.evaluate('dapp.accountInfo(ethereum)')).toMatchObject({
      balance: ETHER.toString(),
      outstanding_charge: '0',
    })
    expect(faults).toEqual([])
  } finally {
    await browser.close()
  }
})

test('a page signs a call of its account that the service aggregates, as in the guide', async () => {
  const owner = await delegatedAccount(sandbox(), 'trustless')
  const browser = await startBrowser(chromium)
  try {
    const { page, faults } = await openDapp(browser, [], owner)
    const call = JSON.stringify({
      target: sandbox().sepolia.contracts.demoTarget,
      calldata: recordData('0d'),
    })
    const data = await page.evaluate<Hex>(`dapp.signedCall(ethereum, ${call})`)
    const raw = await rawTransaction(sandbox(), owner, { to: owner.address, data })
    expect((await submitAndLand(sandbox(), raw)).transactionHash).not.toBe(keccak256(raw))
    expect(await callsOf(sandbox(), owner)).toBe(1n)
    expect(faults).toEqual([])
  } finally {
    await browser.close()
  }
})

test('a page cannot use the admin port', async () => {
  const browser = await startBrowser(chromium)
  try {
    const { page } = await openDapp(browser)
    const prices = sandbox().market.state()
    const url = JSON.stringify(`${sandbox().adminUrl}/market/step`)
    const refused = page.waitForResponse((response) => response.url().endsWith('/market/step'))
    // A browser sends this without a preflight, and shows the page nothing of the answer.
    await page.evaluate(`fetch(${url}, { method: 'POST', mode: 'no-cors' })`)
    expect((await refused).status()).toBe(403)
    expect(sandbox().market.state()).toEqual(prices)
  } finally {
    await browser.close()
  }
})

test('a page from the internet reaches services and nodes once the user allows it', async () => {
  const { host } = new URL(origin)
  const browser = await startBrowser(chromium, `--ip-address-space-overrides=${host}=public`)
  const { rpcUrl, gaslessUrl, aggregatorUrl, sepolia } = sandbox()
  const urls = [rpcUrl, `${gaslessUrl}/api/v1/orders`, aggregatorUrl, sepolia.rpcUrl]
  const reached = async (permissions: string[]): Promise<unknown> => {
    const { page, close } = await openDapp(browser, permissions)
    const post = "{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }"
    const statuses = await page.evaluate(`Promise.all(${JSON.stringify(urls)}.map((url) =>
      fetch(url, ${post}).then(({ status }) => status, () => 'blocked')))`)
    await close()
    return statuses
  }
  try {
    expect(await reached([])).toEqual(urls.map(() => 'blocked'))
    expect(await reached(['local-network-access'])).not.toContain('blocked')
  } finally {
    await browser.close()
  }
})
