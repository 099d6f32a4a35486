import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  compileFunction,
  type Module,
  SourceTextModule,
  type SourceTextModuleOptions,
  SyntheticModule,
} from 'node:vm'

import { textOf } from './interface.ts'
import { firstLine, importPlaceOf, placeOf } from './place.ts'

/** Packages that are handed in, by name. */
export type Given = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const CJS_ARGUMENTS = ['exports', 'require', 'module', '__filename', '__dirname']

/**
 * Loads an ES module with all that it imports: files of its own folder, packages of `node_modules` from there upwards,
 * JSON, and what is given. Node's own loader is not used, for under the permission model of Node 20 it cannot be
 * told what a module may import, and it would hand out the parts of Node that reach the network.
 */
export class Linker {
  readonly #given: Given
  readonly #modules = new Map<string, Promise<Module>>()
  readonly #required = new Map<string, { exports: unknown }>()
  readonly #digest = createHash('sha256')

  constructor(given: Given) {
    this.#given = given
  }

  /** Tells all that was read so far from any other text of it. */
  get version(): string {
    return this.#digest.copy().digest('hex')
  }

  /** Loads and runs a file. */
  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    const module = await this.#module(pathToFileURL(file).href)
    return this.#run(module)
  }

  async #run(module: Module): Promise<Readonly<Record<string, unknown>>> {
    if (module.status === 'unlinked') await module.link(this.#link)
    await module.evaluate()
    return module.namespace as Readonly<Record<string, unknown>>
  }

  readonly #link = async (
    specifier: string,
    { identifier }: { readonly identifier: string },
  ): Promise<Module> => {
    try {
      return await this.#module(this.#resolve(specifier, identifier))
    } catch (error) {
      // Of a text that is no JavaScript Node says the place itself.
      if (error instanceof SyntaxError || placeOf(error) !== '') throw error
      const text = readFile(fileURLToPath(identifier))
      const place = importPlaceOf(specifier, identifier, text)
      throw new Error(`${firstLine(textOf(error))}${place}`)
    }
  }

  /** What a specifier means in the module at an address: the address of a file, or the name of what is given. */
  #resolve(specifier: string, from: string): string {
    if (Object.hasOwn(this.#given, specifier)) return specifier
    refuseBuiltin(specifier)
    return import.meta.resolve(specifier, from)
  }

  #module(address: string): Promise<Module> {
    const known = this.#modules.get(address)
    if (known !== undefined) return known
    const made = this.#make(address)
    this.#modules.set(address, made)
    return made
  }

  async #make(address: string): Promise<Module> {
    const given = this.#given[address]
    if (given !== undefined) return synthetic(address, given)
    const file = fileURLToPath(address)
    switch (extname(file)) {
      case '.mjs':
        return this.#source(address, this.#read(file))
      case '.js':
        return this.#either(address, file)
      case '.cjs':
      case '.json':
        return this.#common(address, this.#require(file))
      default:
        throw new Error(`${file}: a module may import .mjs, .js, .cjs and .json`)
    }
  }

  /** Of a `.js` the text itself says which of the two it is: only ES modules have `import` and `export`. */
  #either(address: string, file: string): Module {
    try {
      return this.#common(address, this.#require(file))
    } catch (error) {
      if (!(error instanceof SyntaxError) || this.#required.has(file)) throw error
      return this.#source(address, this.#read(file))
    }
  }

  #source(identifier: string, text: string): Module {
    const options: SourceTextModuleOptions = {
      identifier,
      initializeImportMeta(meta) {
        const filename = fileURLToPath(identifier)
        Object.assign(meta, { url: identifier, filename })
      },
      importModuleDynamically: async (specifier) => {
        const module = await this.#link(specifier, { identifier })
        await this.#run(module)
        return module
      },
    }
    return new SourceTextModule(text, options)
  }

  /** What was required, as an ES module: whole as its default export, its fields by name. */
  #common(address: string, exports: unknown): Module {
    const fields = exports instanceof Object ? exports : {}
    return synthetic(address, { ...fields, default: exports })
  }

  #require(file: string): unknown {
    const known = this.#required.get(file)
    if (known !== undefined) return known.exports
    const text = this.#read(file)
    if (extname(file) === '.json') return JSON.parse(text)
    const run = compileFunction(text, CJS_ARGUMENTS, { filename: file }) as (
      ...given: unknown[]
    ) => void
    const module = { exports: {} }
    this.#required.set(file, module)
    const { resolve } = createRequire(file)
    const require = (specifier: string): unknown => {
      const given = this.#given[specifier]
      if (given !== undefined) return given
      refuseBuiltin(specifier)
      return this.#require(resolve(specifier))
    }
    run.call(
      module.exports,
      module.exports,
      require,
      module,
      file,
      file.replace(/[/\\][^/\\]*$/, ''),
    )
    return module.exports
  }

  #read(file: string): string {
    const text = readFile(file)
    this.#digest.update(`${file}\0${text}\0`)
    return text
  }
}

/** The permission model judges the place that a link leads to, not the link. */
function readFile(file: string): string {
  try {
    return readFileSync(realpathSync(file), 'utf8')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_ACCESS_DENIED'))
      throw error
    throw new Error(`${file} is out of its reach: its folder, and node_modules above it`)
  }
}

function refuseBuiltin(specifier: string): void {
  if (isBuiltin(specifier))
    throw new Error(`it imports ${specifier}, and nothing of Node is there for a module`)
}

function synthetic(identifier: string, exports: Readonly<Record<string, unknown>>): Module {
  const names = Object.keys(exports)
  return new SyntheticModule(
    names,
    function give(this: SyntheticModule) {
      for (const name of names) this.setExport(name, exports[name])
    },
    { identifier },
  )
}
