import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import type { ModuleView } from '../../../../src/domain/module.ts'
import type { View } from '../../../../strategies/modules/tranched.d.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { initFor } from './init-fixture.ts'

const COMPILERS = ['typescript', 'typescript-7'].map((name) =>
  resolve('node_modules', name, 'bin/tsc'),
)

/** A folder written by init, and the compiler errors of its modules under their `jsconfig.json`. */
async function modulesFolder() {
  const dir = temporaryDirectory()
  await initFor({ dir })
  const modules = join(dir, 'strategies/modules')
  const errorsOf = (compiler: string): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', 'jsconfig.json'], {
      cwd: modules,
    })
    return `${stdout}${stderr}`
  }
  return { dir, modules, errorsOf }
}

test("the example module compiles against the types beside it, with and without zod's own types", async () => {
  const { dir, errorsOf } = await modulesFolder()
  for (const compiler of COMPILERS) expect(errorsOf(compiler)).toBe('')
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  for (const compiler of COMPILERS) expect(errorsOf(compiler)).toBe('')
})

test.each([
  ["sell: 'USDC'", "sell: 'DAI'", /'"DAI"' is not assignable to type 'Tokens'/],
  ['if (price === undefined)', 'if (price === null)', /'price' is possibly 'undefined'/],
  ['}], memory }', '}], memoryOnFil: memory }', /'memoryOnFil' does not exist|memoryOnFill/],
  ["return { skip: 'no price of WETH' }", "return { skip: 'no', orders: [] }", /not assignable/],
  ['amount }]', 'amount: 20 }]', /'number' is not assignable to type 'bigint'/],
  ['view.balances.USDC', 'view.balances.DAI', /'DAI' does not exist/],
  ['const price', "fetch('https://example.com')\n  const price", /Cannot find name 'fetch'/],
])('a module with %j replaced by %j does not compile', async (right, wrong, error) => {
  const { modules, errorsOf } = await modulesFolder()
  const file = join(modules, 'buy-below-average.mjs')
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(right)
  writeFileSync(file, text.replace(right, wrong))
  expect(errorsOf(COMPILERS[1] ?? '')).toMatch(error)
})

test('a zod params schema of another type than the module declares does not compile', async () => {
  const { dir, modules, errorsOf } = await modulesFolder()
  symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
  const file = join(modules, 'buy-below-average.mjs')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('z.coerce.number().min(0)', 'z.string().min(0)'))
  expect(errorsOf(COMPILERS[1] ?? '')).toMatch(/not assignable to type 'Schema<Params>'/)
})

/** Compiled, never run: the daemon's view and the published types have the same fields. */
type Given = ModuleView & { readonly params: unknown }
const given: (view: Given) => View = (view) => view
const named: Readonly<Record<keyof View, true>> & Readonly<Record<keyof Given, true>> = {
  ...{ slotSeconds: true, nowSeconds: true, params: true },
  ...{ balances: true, prices: true, memory: true },
}

test('the types name every field of a view', () => {
  const view = { slotSeconds: 1, nowSeconds: 2, params: {}, balances: {}, prices: {}, memory: {} }
  expect(Object.keys(named)).toEqual(Object.keys(given(view)))
})
