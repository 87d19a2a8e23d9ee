/** What of `@nestjs/swagger` describes the callback routes; pass the module itself. */
export interface OpenApiDecorators {
  ApiTags(...tags: string[]): ClassDecorator & MethodDecorator;
  ApiOperation(options: object): MethodDecorator;
  ApiConsumes(...types: string[]): MethodDecorator & ClassDecorator;
  ApiBody(options: object): MethodDecorator;
  ApiParam(options: { name: string; description?: string; type?: StringConstructor }): MethodDecorator & ClassDecorator;
  ApiResponse(options: object): MethodDecorator & ClassDecorator;
  ApiProperty(options?: object): PropertyDecorator;
}
