/** A shell script, which the bundlers load as text. */
declare module "*.sh" {
  const text: string;
  export default text;
}
