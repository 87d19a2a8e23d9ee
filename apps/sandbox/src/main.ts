import {hello} from 'nestjs-payment-sandbox'; console.log(hello);
