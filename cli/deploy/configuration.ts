// Which configuration does wrangler get for a deployment (deploy.md#wrangler)?

/** What the build takes from `wrangler.toml` (`dist/deploy.json`). Paths are relative to its folder. */
export interface Template {
  main: string;
  assets: { directory: string };
  r2_buckets?: { binding: string; bucket_name: string }[];
  [field: string]: unknown;
}

/** What is different in each deployment. */
export interface Target {
  /** The name of the Worker. */
  name: string;
  account: string;
  /** The name of the bucket; null: none. */
  bucket: string | null;
  /** The custom domains at which the Worker answers, too. Others are taken from it. */
  domains: readonly string[];
}

/**
 * The configuration of a deployment. `resolve`: the absolute path of one in the template. The address of
 * `workers.dev` stays on beside a custom domain (deploy.md#domains).
 */
export function configurationFor(
  template: Template,
  { name, account, bucket, domains }: Target,
  resolve: (path: string) => string,
): object {
  const { main, assets, r2_buckets = [], ...rest } = template;
  const buckets = bucket === null ? [] : r2_buckets.map((one) => ({ ...one, bucket_name: bucket }));
  return {
    ...rest,
    name,
    account_id: account,
    main: resolve(main),
    assets: { ...assets, directory: resolve(assets.directory) },
    ...(buckets.length === 0 ? {} : { r2_buckets: buckets }),
    workers_dev: true,
    ...(domains.length === 0 ? {} : { routes: domains.map((pattern) => ({ pattern, custom_domain: true })) }),
    // What the Worker says of itself later, since nobody else could tell it the next deployment.
    vars: {
      ...(bucket === null ? {} : { DROVER_BUCKET: bucket }),
      ...(domains.length === 0 ? {} : { DROVER_DOMAINS: domains.join(",") }),
    },
  };
}
